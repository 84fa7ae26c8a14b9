"""Secrets in the texts that people and agents give to commands."""

from pathlib import Path

import pytest

from gitworker.store.sqlite.migrate import open_database
from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, run
from tests.conftest import git

SECRET = "sk-ant-abcdefghijklmnopqrstuvwxyz"
TEXT = f"Call it with {SECRET} for now"
SHARED = "Call it with [redacted] for now"
WARNING = "warning: a part of the text looks like a secret and is recorded as [redacted]"


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


def done_with_an_address(scene: Scene, worktree: Path) -> Answer:
    """Hand work in with the address of a pull request that contains a password."""
    scene.commit(worktree, "new.txt")
    ok(scene.root, "send", "auth", TEXT)
    return run(worktree, "done", "--pr", f"https://me:{SECRET}@example.org/1")


def land(scene: Scene, worktree: Path) -> Answer:
    """Land work with a note."""
    scene.commit(worktree, "new.txt")
    ok(worktree, "done")
    return run(scene.root, "land", "auth", "-m", TEXT)


def stop(scene: Scene, _: Path) -> Answer:
    """Stop an agent with a reason."""
    return run(scene.root, "stop", "auth", "-m", TEXT)


def pause(scene: Scene, _: Path) -> Answer:
    """Pause an agent with a reason."""
    return run(scene.root, "pause", "auth", "-m", TEXT)


def resume(scene: Scene, _: Path) -> Answer:
    """Let an agent continue with a reason."""
    return run(scene.root, "continue", "auth", "-m", TEXT)


def task_stop(scene: Scene, _: Path) -> Answer:
    """Stop a task without a running agent with a reason."""
    return run(scene.root, "task", "stop", "t1", "-m", TEXT)


def comment(scene: Scene, worktree: Path) -> Answer:
    """Comment work, and send the comment."""
    scene.commit(worktree, "new.txt")
    ok(worktree, "done")
    said = run(scene.root, "review", "comment", "auth", "new.txt:1", "-m", TEXT)
    ok(scene.root, "review", "send", "auth")
    return said


def edit(scene: Scene, worktree: Path) -> Answer:
    """Replace the words of a comment, and send it."""
    scene.commit(worktree, "new.txt")
    ok(worktree, "done")
    ok(scene.root, "review", "comment", "auth", "-m", "Why?")
    said = run(scene.root, "review", "edit", "1", "-m", TEXT)
    ok(scene.root, "review", "send", "auth")
    return said


def review_send(scene: Scene, worktree: Path) -> Answer:
    """Send a review with a note."""
    scene.commit(worktree, "new.txt")
    ok(worktree, "done")
    return run(scene.root, "review", "send", "auth", "--request-changes", "-m", TEXT)


def review_approve(scene: Scene, worktree: Path) -> Answer:
    """Approve work by a review with a note."""
    scene.commit(worktree, "new.txt")
    ok(worktree, "done")
    return run(scene.root, "review", "send", "auth", "--approve", "-m", TEXT)


def reopen(scene: Scene, worktree: Path) -> Answer:
    """Open a comment again with a reason, and send it."""
    sent_comment(scene, worktree)
    ok(worktree, "review", "handled", "1", "-m", "So it is")
    said = run(scene.root, "review", "reopen", "1", "-m", TEXT)
    ok(scene.root, "review", "send", "auth")
    return said


def sent_comment(scene: Scene, worktree: Path) -> None:
    """Send a comment on work that was handed in."""
    scene.commit(worktree, "new.txt")
    ok(worktree, "done")
    ok(scene.root, "review", "comment", "auth", "-m", "Why?")
    ok(scene.root, "review", "send", "auth")


VERBS = (
    send, ask, reply, done, done_with_an_address, reject, approve, land, fail, stop, pause, resume,
    task_stop, comment, edit, review_send, review_approve, reopen,
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_no_secret_is_shared(scene: Scene, verb: object) -> None:
    """A secret in a text is redacted, which is reported; the rest of the text is recorded."""
    assert callable(verb)
    done = verb(scene, scene.working())
    assert WARNING in done.err
    ok(scene.root, "msg", "export", "--git")
    exported = git(scene.root, "log", "-p", "refs/worker/log")
    assert SHARED in exported
    assert SECRET not in exported
    holding = [path for path in scene.state.rglob("*") if path.is_file() and holds(path)]
    assert holding == []


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["hot", "whole"])
def test_a_heartbeat_has_no_secret(scene: Scene, more: tuple[str, ...]) -> None:
    """A secret as the current task of a heartbeat is redacted everywhere, and reported."""
    scene.working()
    words = ("heartbeat", "auth", "--status", "blocked", "--task", SECRET)
    assert WARNING in run(scene.root, *words, *more).err
    row = open_database(str(scene.state / "bus.db")).row("liveness.of_agent", agent="auth")
    assert row is not None
    assert row["current_task"] == "[redacted]"
    ok(scene.root, "msg", "export", "--git")
    exported = git(scene.root, "log", "-p", "refs/worker/log")
    assert "task_blocked" in exported
    assert SECRET not in exported
    assert not any(path.is_file() and holds(path) for path in scene.state.rglob("*"))


def test_an_answer_has_no_secret(scene: Scene) -> None:
    """A secret in the answer to a comment is not stored; the reviewer reads the rest."""
    worktree = scene.working()
    sent_comment(scene, worktree)
    assert "[redacted]" in run(worktree, "review", "handled", "1", "-m", TEXT).err
    assert SHARED in ok(scene.root, "review", "list", "auth", "--json")
    assert not any(path.is_file() and holds(path) for path in scene.state.rglob("*"))


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
