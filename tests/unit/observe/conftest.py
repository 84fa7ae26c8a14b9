"""A repository with gitworker set up, opened as a command would open it, at a pinned time."""

from pathlib import Path

import pytest

from gitworker.app import open_session
from gitworker.session import Session

NOW_MS = 1_800_000_000_000


class Clock:
    """Wall and monotonic time, set by the test."""

    def __init__(self) -> None:
        self.ms = NOW_MS

    def now_ms(self) -> int:
        """Return the wall clock."""
        return self.ms

    def monotonic_ms(self) -> int:
        """Return a monotonic clock that moves with the wall clock."""
        return self.ms - NOW_MS + 1_000_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that only the test moves."""
    pinned = Clock()
    monkeypatch.setattr("gitworker.clock.now_ms", pinned.now_ms)
    monkeypatch.setattr("gitworker.clock.monotonic_ms", pinned.monotonic_ms)
    return pinned


@pytest.fixture
def session(repository: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session of hq in the main worktree."""
    monkeypatch.chdir(repository)
    return open_session()
