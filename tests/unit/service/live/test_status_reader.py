"""The work of `status --watch` between two frames."""

import fcntl
from pathlib import Path

import pytest

from gitworker.app import open_session
from gitworker.service.live.status_reader import StatusReader
from gitworker.session import Session
from tests.unit.observe.scene import commit, spawned


@pytest.fixture
def session(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session of hq in the main worktree."""
    monkeypatch.chdir(repository)
    return open_session()


def test_a_busy_database(session: Session) -> None:
    """While the database is locked, the status is still read, and commits are published later."""
    worktree = spawned(session, "auth", "skills")
    looker = StatusReader(session, every_subject=True)
    looker.read_again()
    commit(worktree, "a.txt")
    session.store.wait_at_most(10)
    with Path(session.paths.gate).open("w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        busy = looker.read_again()
    assert [(one.tip and one.tip.subject) for one in busy.workers] == ["Add a.txt"]
    assert "commit" not in {event.kind for event in busy.events}
    assert "commit" in {event.kind for event in looker.read_again().events}


def test_git_is_asked_once(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as no branch moves, reading again starts no process."""
    worktree = spawned(session, "auth", "skills")
    looker = StatusReader(session, every_subject=True)
    looker.read_again()
    trace = tmp_path / "trace"
    trace.write_text("")
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    looker.read_again()
    assert trace.read_text() == ""
    commit(worktree, "a.txt")
    assert [one.news for one in looker.read_again().workers] == ["Add a.txt"]
    assert trace.read_text() != ""
