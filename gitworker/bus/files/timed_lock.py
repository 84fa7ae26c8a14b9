"""A lock file with a bounded wait. On the hot path: nothing heavy is imported here."""

from __future__ import annotations

import fcntl
import os

from gitworker.clock import monotonic_ms, sleep

FIRST_PAUSE_S = 0.0005
LAST_PAUSE_S = 0.02


class TimedLock:
    """A lock file with a bounded wait; `with Turn(path) as taken` gives whether it was taken.

    For files that are only views of the database: a stopped holder (^Z) must not block every
    publisher. The lock ends with its holder.
    """

    __slots__ = ("_fd", "_path", "_wait_ms")

    def __init__(self, path: str, *, wait_ms: int) -> None:
        self._path = path
        self._wait_ms = wait_ms
        self._fd = -1

    def __enter__(self) -> bool:
        """Wait for the lock; return False if it stays taken for `wait_ms`."""
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = monotonic_ms() + self._wait_ms
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if monotonic_ms() >= deadline:
                    return False
            sleep(pause_s)
            pause_s = min(pause_s * 2, LAST_PAUSE_S)

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        os.close(self._fd)
