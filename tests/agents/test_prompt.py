"""The text of a task reaches its agent: by a file, and by placeholders in the command."""

import os
import shlex
from pathlib import Path

import pytest

from tests.agents.supervised import SupervisedWorker
from tests.cli.kit import ok, run

TEXT = "Build {task}\r\n'now' \"é\" 🦀 $HOME\n\n"
SHOW = 'for word; do printf "%s|" "$word"; done'


@pytest.fixture
def root(auth: SupervisedWorker) -> Path:
    """Return a repository with the worker `auth`, whose task has no text."""
    return auth.world.root


def arguments(root: Path, worker: str, *words: str) -> str:
    """Return the words that an agent gets, each followed by a bar."""
    answer = run(root, "exec", worker, "--", "sh", "-c", SHOW, "sh", *words)
    return answer.out


def test_placeholders(root: Path) -> None:
    """Placeholders are replaced inside the words, unknown and escaped ones are not."""
    worktree = ok(root, "spawn", "docs", "t2", "-m", TEXT)
    found = arguments(
        root, "docs", "{prompt}", "-m={prompt}", "{worker}:{task}", "{branch}", "{worktree}",
        "{{prompt}}", "{other}", "${task}", "{}",
    )  # fmt: skip
    assert found == (
        f"{TEXT}|-m={TEXT}|docs:t2|docs/t2|{worktree}|{{prompt}}|{{other}}|${{task}}|{{}}|"
    )


def test_prompt_file(root: Path) -> None:
    """The file has the exact text, is readable by its user only, and is not in the worktree."""
    worktree = ok(root, "spawn", "docs", "t2", "-m", TEXT)
    script = 'test "$1" = "$GITWORKER_PROMPT_FILE" && stat -c %a "$1" && cat "$1"; git status -s'
    answer = run(root, "exec", "docs", "--", "sh", "-c", script, "sh", "{prompt_file}")
    assert answer.out == f"600\n{TEXT}"
    (file,) = (root / ".git/worktrees").glob("*/gitworker-prompt")
    assert not str(file).startswith(worktree)


def test_title_instead(root: Path) -> None:
    """The title is the prompt of a task without a text."""
    ok(root, "spawn", "docs", "t2", "--title", "Build it")
    assert arguments(root, "docs", "{prompt}") == "Build it|"


def test_recorded_command(auth: SupervisedWorker) -> None:
    """The recorded and published command keeps the placeholders, not the prompt."""
    ok(auth.world.root, "spawn", "docs", "t2", "-m", "a secret")
    run(auth.world.root, "exec", "docs", "--", "true", "{prompt}")
    assert auth.runs()[-1]["command"] == "true '{prompt}'"
    published = [message["command"] for message in auth.world.messages("agent_started")]
    assert published == ["true '{prompt}'"]


def test_without_prompt(root: Path) -> None:
    """Without text and title a command that uses the prompt is refused, and nothing has begun."""
    answer = run(root, "exec", "auth", "--", "true", "{prompt}")
    assert answer.status == 2
    assert answer.err.startswith(
        "error: the command uses the prompt, but t1 has neither text nor title\n"
    )
    assert run(root, "list", "--json").document["workers"][0]["state"] == "ASSIGNED"
    answer = run(root, "spawn", "docs", "t2", "--", "true", "{prompt_file}")
    assert answer.status == 2
    assert not (root / "worktrees/t2").exists()
    assert run(root, "exec", "auth", "--", "env").out.count("GITWORKER_PROMPT_FILE") == 0


def test_spawn_with_a_command(root: Path) -> None:
    """A spawn gives the new text to its agent; a prompt of the caller is not passed on."""
    script = 'printf "%s" "$1" >new; git add new; git commit -qm New'
    env = {"GITWORKER_PROMPT_FILE": "/elsewhere"}
    words = ("spawn", "docs", "-m", "Build it\n", "--", "sh", "-c", script, "sh", "{prompt}")
    answer = run(root, *words, env=env)
    assert answer.status == 0, answer
    assert "docs is in review" in answer.err
    assert (root / "worktrees/build-it/new").read_text() == "Build it\n"
    assert "/elsewhere" not in run(root, "exec", "auth", "--", "env", env=env).out


def test_long_prompt(root: Path) -> None:
    """A text that no argument can hold is refused, and the file holds it."""
    text = "x" * 200_000
    ok(root, "spawn", "docs", "t2", "-F", "-", stdin=text.encode())
    answer = run(root, "exec", "docs", "--", "true", "{prompt}")
    assert answer.status == 2
    assert "an argument of 200000 bytes; 131071 are possible\nhint: use {prompt_file}" in answer.err
    answer = run(root, "exec", "docs", "--", "sh", "-c", f"wc -c <{shlex.quote('{prompt_file}')}")
    assert answer.out.strip() == "200000"


def test_longest_prompt(root: Path) -> None:
    """An argument of the greatest length is passed on."""
    text = "y" * (os.sysconf("SC_PAGESIZE") * 32 - 1)
    ok(root, "spawn", "docs", "t2", "-F", "-", stdin=text.encode())
    script = 'printf %s "$1" | wc -c'
    answer = run(root, "exec", "docs", "--", "sh", "-c", script, "sh", "{prompt}")
    assert answer.out.strip() == str(len(text)), answer
