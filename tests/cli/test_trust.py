"""git worker trust and verify as typed: display, questions, refusals and exit status."""

import json
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, unmeasured, wait_until
from tests.cli.terminal import on_terminal
from tests.conftest import git
from tests.hints.following import note
from tests.verify.scene import is_alive, read_pid

EVIL = "echo \x1b[2J\u202e; true"
SHOWN = "echo \\u001b[2J\\u202e; true"


@pytest.fixture
def brought(scene: Scene) -> Scene:
    """A repository that brings verify commands."""
    text = json.dumps([EVIL, "test ! -e broken"])
    (scene.root / ".gitworker.toml").write_text(f'[verify]\ncommands = {text}\nenv = ["CI=1"]\n')
    git(scene.root, "add", ".")
    git(scene.root, "commit", "-qm", "Verify")
    return scene


def hashes(answer: Answer) -> list[str]:
    """Return the hashes that a command reports as trusted."""
    return [one["hash"] for one in answer.document["trusted"]]


def test_no_question_without_a_terminal(brought: Scene) -> None:
    """Without a terminal the commands are shown, no consent is recorded, and nothing runs."""
    for words in (("trust",), ("trust", "--json")):
        answer = brought.run(*words)
        assert answer.status == 1
        assert f"  $ {SHOWN}\n  $ test ! -e broken\n  environment: CI=1\n" in answer.err
    answer = brought.run("verify")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err == (
        "error: the verify commands of this repository are not trusted yet\n"
        f"  {SHOWN}\n  test ! -e broken\n  env CI=1\nhint: git worker trust\n"
    )
    assert not (brought.state / "logs" / "verify").exists()


def test_yes(brought: Scene) -> None:
    """With --yes the commands are agreed to, once, listed, and revoked by their hash."""
    agreed = brought.run("trust", "--yes", "--json")
    (found,) = hashes(agreed)
    assert agreed.document["trusted"][0] == {
        "kind": "verify", "hash": found, "commands": [EVIL, "test ! -e broken"], "env": ["CI=1"],
    }  # fmt: skip
    assert ok(brought.root, "trust", "--yes") == "no commands need an agreement"
    listed = ok(brought.root, "trust", "--list")
    assert listed.startswith(found[:12])
    assert listed.endswith(f"Ada Tester (hq)  {SHOWN}; test ! -e broken")
    assert hashes(brought.run("trust", "--list", "--json")) == [found]
    assert brought.run("verify").status == 0
    assert ok(brought.root, "trust", "--revoke", found[:8]) == f"no longer trusted: {found}"
    assert ok(brought.root, "trust", "--list") == "no commands are trusted"
    assert brought.run("verify", "--force").status == 1


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--yes", "--list"), 2),
        (("--list", "--revoke", "a"), 2),
        (("--revoke", "a"), 4),
        (("--yes", "--as", "auth"), 1),
        (("--as", "auth"), 1),
    ],
)
def test_refusals(brought: Scene, words: tuple[str, ...], status: int) -> None:
    """Options that exclude each other, an unknown hash and a worker are refused."""
    assert brought.run("trust", *words).status == status
    assert hashes(brought.run("trust", "--list", "--json")) == []


@pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("n\n", 1), ("\n", 1), ("\x04", 130)])
def test_a_person_is_asked(brought: Scene, typed: str, status: int) -> None:
    """At a terminal the commands are shown escaped, and only a yes is an agreement."""
    with on_terminal(brought.root, "trust", env=unmeasured()) as terminal:
        seen = terminal.read_until("[y/N]: ")
        assert SHOWN in seen
        assert "\x1b[2J" not in seen
        terminal.type(typed)
        terminal.rest()
        assert terminal.process.wait(30) == status
    note("git worker trust", "the commands are not trusted")
    assert len(hashes(brought.run("trust", "--list", "--json"))) == (1 if status == 0 else 0)


def test_a_person_is_asked_before_a_run(brought: Scene) -> None:
    """A user at a terminal is asked before a run, and sees its progress and its result."""
    env = {**unmeasured(), "TERM": "xterm"}
    with on_terminal(brought.root, "verify", env=env) as terminal:
        terminal.read_until("[y/N]: ")
        terminal.type("y\n")
        assert " passed after " in terminal.rest()
        assert terminal.process.wait(30) == 0
    assert len(hashes(brought.run("trust", "--list", "--json"))) == 1


def own(scene: Scene, command: str) -> None:
    """Set the verify command as its user does."""
    git(scene.root, "config", "worker.verify.commands", command)


def test_verify_answers(scene: Scene) -> None:
    """Verify reports a pass, an earlier pass, a failure, and the absence of commands."""
    assert ok(scene.root, "verify").endswith(
        "no verify commands are set (setting: verify.commands)"
    )
    assert scene.run("verify", "--json").document["log"] is None
    own(scene, "echo said; test ! -e broken")
    first = scene.run("verify")
    assert (first.status, first.err) == (0, "")
    head, log = first.out.splitlines()
    assert head.startswith("main at <short> passed after ")
    assert log.startswith("log: <root>/.git/worker-state/logs/verify/")
    assert scene.run("verify").out.splitlines() == ["main at <short> has passed before", log]
    forced = json.loads(ok(scene.root, "verify", "--force", "--json"))
    assert (forced["passed"], forced["cached"], forced["reason"]) == (True, False, "")
    assert "said\n" in Path(forced["log"]).read_text()
    scene.commit(scene.root, "broken")
    failed = scene.run("verify")
    assert failed.status == 1
    assert failed.out.splitlines()[0].endswith(
        ": `echo said; test ! -e broken` ended with status 1"
    )
    assert "  said\n" in failed.err
    assert scene.run("verify", "HEAD~1").status == 0
    document = scene.run("verify", "--json")
    assert (document.status, document.document["passed"]) == (1, False)


def test_verify_names(scene: Scene) -> None:
    """A worker's name means its branch, another name a revision; any other word is unknown."""
    own(scene, "test -e new.txt")
    worktree = scene.working()
    scene.commit(worktree, "new.txt")
    assert scene.run("verify").status == 1
    for name in ("auth", "t1", "auth/t1", git(worktree, "rev-parse", "HEAD")):
        assert scene.run("verify", name).status == 0, name
    assert scene.run("verify", cwd=worktree).status == 0, "the worktree's own branch"
    unknown = scene.run("verify", "unknown")
    assert (unknown.status, unknown.out) == (4, "")
    assert scene.run("verify", "--", "--force").status == 4


def test_progress_on_a_terminal(scene: Scene) -> None:
    """A terminal shows seconds, command and last output on one line, cleared at the end."""
    own(scene, "printf '\\033[31mworking\\n'; until test -e go; do sleep 0.01; done")
    env = {**unmeasured(), "TERM": "xterm"}
    with on_terminal(scene.root, "verify", env=env, size=(100, 24)) as terminal:
        seen = terminal.read_until("  working")
        assert "verifying main " in seen
        assert "\x1b[31m" not in seen
        (scene.root / "worktrees" / ".verify" / "1" / "go").touch()
        assert "\r\x1b[K" in terminal.rest()
        assert terminal.process.wait(30) == 0


def test_interrupted(scene: Scene, tmp_path: Path) -> None:
    """Ctrl-C ends the commands, records nothing, and the status is 130."""
    own(scene, f"echo $$ >{tmp_path}/pid; exec sleep 300")
    with on_terminal(scene.root, "verify", env=unmeasured()) as terminal:
        wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        terminal.type("\x03")
        terminal.rest()
        assert terminal.process.wait(30) == 128 + signal.SIGINT
    assert not is_alive(read_pid(tmp_path / "pid"))
    own(scene, "true")
    assert scene.run("verify").status == 0
