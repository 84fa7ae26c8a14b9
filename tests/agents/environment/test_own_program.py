"""Agents that reset their environment: they commit, find us and are seen all the same."""

import os
import shutil
from pathlib import Path

import pytest

from gitworker.agents.environment.own_program import find_own_program
from gitworker.repo.hooks.install import uninstall
from gitworker.repo.hooks.worker_alias import START
from gitworker.repo.plumbing.git import Git
from tests.agents.supervised import COMMIT, SupervisedWorker
from tests.workers.world import wait_until

SYSTEM_PATH = os.pathsep.join(
    dict.fromkeys((os.path.dirname(shutil.which("git") or ""), "/usr/bin", "/bin"))
)


@pytest.mark.parametrize(
    "reset",
    [
        "HOME=/nowhere XDG_CONFIG_HOME=/nowhere",
        "GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1",
        f"PATH={SYSTEM_PATH}",
    ],
)
def test_an_agent_that_resets_one_part(auth: SupervisedWorker, reset: str) -> None:
    """Without HOME, git's configuration or PATH an agent commits under its user and hands in."""
    (auth.path / "deep").mkdir()
    script = f"{COMMIT} && cd deep && git worker heartbeat --progress 0.5 && git worker done"
    answer = auth.exec(f"env {reset} sh -c '{script}'")
    assert answer.status == 0, answer
    assert auth.state() == "IN_REVIEW"
    expected = auth.world.git("log", "-1", "--format=%an %ae %cn %ce", "main")
    assert auth.world.git("log", "-1", "--format=%an %ae %cn %ce", cwd=auth.path) == expected
    answer = auth.exec(":")
    assert "is in review" in answer.err


def test_the_program_by_variable(auth: SupervisedWorker) -> None:
    """GITWORKER is an absolute path, and git's settings of the caller stay in force."""
    script = f'{COMMIT} && git config --get x.y >y && rm y && PATH=/none "$GITWORKER" --version'
    settings = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "x.y", "GIT_CONFIG_VALUE_0": "z"}
    answer = auth.exec(script, env=settings)
    assert answer.status == 0, answer
    assert auth.state() == "IN_REVIEW"


@pytest.mark.parametrize(
    "commit",
    [
        f"git -c core.hooksPath=/dev/null {COMMIT[4:]}",
        f"env -i HOME=$HOME PATH={SYSTEM_PATH} {COMMIT}",
        f"{COMMIT} --no-verify",
    ],
)
def test_a_commit_without_hooks_is_published(auth: SupervisedWorker, commit: str) -> None:
    """The supervisor publishes a commit while the agent runs, if no hook does."""
    script = f"{commit} && read -r line"
    read, write = os.pipe()
    with auth.running("sh", "-c", script, stdin=read):
        wait_until(lambda: len(auth.world.messages("task_progress")) == 1)
        os.close(write)
    os.close(read)


def test_the_alias_leaves_no_trace(auth: SupervisedWorker) -> None:
    """The alias is in the worktree's own configuration only, once, and an uninstall removes it."""
    home = Path(os.environ["HOME"], ".gitconfig").read_bytes()
    shared = (auth.world.root / ".git/config").read_bytes()
    worktree = auth.world.root / ".git/worktrees/t1"
    before = (worktree / "config.worktree").read_bytes()
    auth.exec(":")
    after = (worktree / "config.worktree").read_bytes()
    assert after.startswith(before)
    assert after.count(b"worker = ") == 1
    auth.exec(":")
    assert (worktree / "config.worktree").read_bytes() == after
    assert Path(os.environ["HOME"], ".gitconfig").read_bytes() == home
    assert (auth.world.root / ".git/config").read_bytes() == shared
    session = auth.world.session()
    auth.world.git("config", "--worktree", "x.y", "z", cwd=auth.path)
    uninstall(session.git, session.repository)
    assert auth.world.git("config", "--file", str(worktree / "config.worktree"), "-l") == "x.y=z"


def test_an_alias_of_the_user_stays(auth: SupervisedWorker) -> None:
    """An alias of that name which the user set in the worktree is not replaced."""
    Git(str(auth.path)).run("config", "--worktree", "alias.worker", "!echo mine")
    auth.exec(":")
    assert auth.world.git("config", "--worktree", "alias.worker", cwd=auth.path) == "!echo mine"
    Git(str(auth.path)).run("config", "--worktree", "alias.worker", f"{START}'/old/git-worker'")
    auth.exec(":")
    assert "/old/" not in auth.world.git("config", "--worktree", "alias.worker", cwd=auth.path)


def test_where_the_program_is_found(tmp_path: Path) -> None:
    """It is the file that was started, else the one beside the interpreter, else one on PATH."""
    for name in ("bin", "venv", "path"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "git-worker").touch(mode=0o755)
    named, beside, on_path = (
        str(tmp_path / name / "git-worker") for name in ("bin", "venv", "path")
    )
    python, path = str(tmp_path / "venv/python"), f"relative:{tmp_path / 'path'}"
    found = find_own_program(started_as=named, interpreter=python, path=path)
    assert found == named
    module = str(tmp_path / "__main__.py")
    assert find_own_program(started_as=module, interpreter=python, path=path) == beside
    assert find_own_program(started_as=module, interpreter="/none/python", path=path) == on_path
    assert find_own_program(started_as=module, interpreter="/none/python", path="") is None
