"""Secrets in the texts that people and agents give to commands."""

from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, run
from tests.conftest import git

SECRET = "sk-ant-abcdefghijklmnopqrstuvwxyz"
TEXT = f"Call it with {SECRET} for now"
SHARED = "Call it with [redacted] for now"


def send(scene: Scene, _: Path) -> Answer:
    """Send a text to a worker."""
    return run(scene.root, "send", "auth", TEXT)


def ask(scene: Scene, worktree: Path) -> Answer:
    """Ask a person a question, without waiting for the answer."""
    return run(worktree, "ask", TEXT, "--timeout", "0.2")


def reply(scene: Scene, worktree: Path) -> Answer:
    """Answer a question."""
    run(worktree, "ask", "How do I call it?", "--timeout", "0.2")
    return run(scene.root, "reply", "auth", TEXT)


def done(scene: Scene, worktree: Path) -> Answer:
    """Hand work in with a note."""
    scene.commit(worktree, "new.txt")
    return run(worktree, "done", "-m", TEXT)


def reject(scene: Scene, worktree: Path) -> Answer:
    """Send work back with a request."""
    scene.commit(worktree, "new.txt")
    ok(worktree, "done")
    return run(scene.root, "reject", "auth", "-m", TEXT)


def approve(scene: Scene, worktree: Path) -> Answer:
    """Approve work with a note."""
    scene.commit(worktree, "new.txt")
    ok(worktree, "done")
    return run(scene.root, "approve", "auth", "-m", TEXT)


def fail(scene: Scene, worktree: Path) -> Answer:
    """Give up with a reason."""
    return run(worktree, "fail", "-m", TEXT)


@pytest.mark.parametrize("verb", [send, ask, reply, done, reject, approve, fail])
def test_no_secret_is_shared(scene: Scene, verb: object) -> None:
    """A secret in a text is redacted, which is reported; the rest of the text is recorded."""
    assert callable(verb)
    done = verb(scene, scene.working())
    warning = "warning: a part of the text looks like a secret and is recorded as [redacted]"
    assert warning in done.err
    ok(scene.root, "msg", "export", "--git")
    exported = git(scene.root, "log", "-p", "refs/worker/log")
    assert SHARED in exported
    assert SECRET not in exported
    holding = [path for path in scene.state.rglob("*") if path.is_file() and holds(path)]
    assert holding == []


def test_a_task_keeps_its_secret(scene: Scene) -> None:
    """The agent reads the text of its task as it was written; bus and logs lack its secret."""
    ok(scene.root, "task", "add", "-m", f"Title with {SECRET}\n\n{TEXT}", "t1")
    ok(scene.root, "spawn", "auth", "t1")
    assert TEXT in ok(scene.root, "task", "text", "t1")
    ok(scene.root, "msg", "export", "--git")
    exported = git(scene.root, "log", "-p", "refs/worker/log")
    assert SHARED in exported
    assert SECRET not in exported
    files = [path for path in scene.state.rglob("*.jsonl") if holds(path)]
    assert files == []


def test_ordinary_words_stay(scene: Scene) -> None:
    """A text without a secret is recorded as it is, without a warning."""
    scene.working()
    words = "The token expires: fix the password form, see docs/api-keys.md"
    assert run(scene.root, "send", "auth", words).err == ""
    assert words in ok(scene.root, "inbox", "--as", "auth")


def holds(path: Path) -> bool:
    """Return whether a file contains the secret."""
    return SECRET.encode() in path.read_bytes()
