"""Files that are views only: a lock on them that is held for ever blocks no command."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitworker.bus.files.state_file_heartbeat import update_state_file_heartbeat
from gitworker.bus.files.timed_lock import TimedLock
from gitworker.paths import StatePaths

STATE_FILE = '{\n  "last_heartbeat": "2026-01-01T00:00:00Z",\n  "pid": 1\n}\n'


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock as a stopped process would."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(fd)


def test_the_wait_for_a_lock_ends(tmp_path: Path) -> None:
    """A wait for a held lock ends with a refusal, and succeeds once the holder has ended."""
    lock = tmp_path / "lock"
    with held(lock), TimedLock(str(lock), wait_ms=30) as taken:
        assert taken is False
    with TimedLock(str(lock), wait_ms=0) as taken:
        assert taken is True
        with TimedLock(str(lock), wait_ms=0) as second:
            assert second is False


def test_a_heartbeat_is_written_to_the_state_file(tmp_path: Path) -> None:
    """A heartbeat replaces its line of the state file, and creates no file."""
    paths = StatePaths(str(tmp_path))
    os.makedirs(paths.workers)
    os.makedirs(paths.locks)
    (tmp_path / "workers/auth.json").write_text(STATE_FILE)
    update_state_file_heartbeat(paths, "auth", 1_800_000_000_000)
    update_state_file_heartbeat(paths, "docs", 1_800_000_000_000)
    assert "2027-01-15T08:00:00Z" in (tmp_path / "workers/auth.json").read_text()
    assert os.listdir(paths.workers) == ["auth.json"]
