"""Proof of life that other PID namespaces can see: an flock on `alive/<worker>`.

The supervisor of a run or the heartbeat daemon of a namespace holds it while a process of the
worker lives. Locks belong to files, so they are visible from every PID and mount namespace.
"""

from __future__ import annotations

import fcntl
import os

from gitworker.paths import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.paths import StatePaths


LANDS = "orchestrator"  # the lock of a run that lands the work of its agents
RUNS = "orchestrator.run"  # the lock of a run; of several at once one has it


class LifeLock:
    """The lock for one worker, held from a `take` that succeeds until `release`."""

    def __init__(self, paths: StatePaths, worker: str) -> None:
        self._paths = paths
        self._worker = worker
        self._fd: int | None = None

    @property
    def is_held(self) -> bool:
        """Return whether this is the holder."""
        return self._fd is not None

    def take(self) -> None:
        """Take the lock if it is free; another holder proves life too. Repeated calls are cheap."""
        if self._fd is not None:
            return
        try:
            os.makedirs(self._paths.alive, exist_ok=True)
            fd = os.open(_path(self._paths, self._worker), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:  # a full or read-only disk: heartbeats must suffice
            return
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
        else:
            self._fd = fd

    def release(self) -> None:
        """Release the lock; the file stays, so that a new holder never locks a deleted one."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def end(self) -> None:
        """Release the lock and delete its file; only for a name that is never used again."""
        if self._fd is not None:
            drop_life(self._paths, self._worker)
        self.release()


def is_life_locked(paths: StatePaths, worker: str) -> bool:
    """Return whether a living process holds a worker's lock; works on a read-only disk."""
    return find_life(paths, worker) is True


def find_life(paths: StatePaths, name: str) -> bool | None:
    """Return whether a living process holds a lock; None if it was never taken, or is unknown."""
    try:
        fd = open_regular(_path(paths, name), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return None
    finally:
        os.close(fd)
    return False


def drop_life(paths: StatePaths, name: str) -> None:
    """Delete the file of a lock whose name is never used again."""
    try:  # noqa: SIM105 - contextlib is not loaded otherwise when an agent starts
        os.unlink(_path(paths, name))
    except OSError:
        pass


def _path(paths: StatePaths, worker: str) -> str:
    return f"{paths.alive}/{worker}"
