"""What `status --watch` does between two frames."""

import fcntl
from pathlib import Path

import pytest

from gitworker.app import open_session
from gitworker.cli.watch_status import _Looker
from gitworker.errors import Conflict
from gitworker.session import Session
from tests.unit.observe.scene import commit, spawned


@pytest.fixture
def session(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session of hq in the main worktree."""
    monkeypatch.chdir(repository)
    return open_session()


def test_a_busy_database(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the database is too busy the last status stays; without a last one it is an error."""
    seat = spawned(session, "auth", "skills")
    looker = _Looker(session, every_subject=True)
    before = looker.look()
    commit(seat, "a.txt")
    monkeypatch.setattr("gitworker.store.sqlite.database.GATE_TIMEOUT_MS", 10)
    with Path(session.paths.gate).open("w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        assert looker.look() is before
        with pytest.raises(Conflict):
            _Looker(session, every_subject=True).look()
    after = looker.look()
    assert [(one.tip and one.tip.subject) for one in after.seats] == ["Add a.txt"]


def test_git_is_asked_once(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as no branch moves, looking again starts no process."""
    seat = spawned(session, "auth", "skills")
    looker = _Looker(session, every_subject=True)
    looker.look()
    trace = tmp_path / "trace"
    trace.write_text("")
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    looker.look()
    assert trace.read_text() == ""
    commit(seat, "a.txt")
    assert [one.note for one in looker.look().seats] == ["waits for its agent to start"]
    assert trace.read_text() != ""
