"""Taking turns with other processes by a kernel lock that dies with its holder. On the hot path.

For files that are only views of the database: a holder that is stopped (^Z) must not stop everybody
who only wants to tell something, so the wait is bounded and whoever got no turn does without.
"""

from __future__ import annotations

import fcntl
import os

from gitworker import clock

WAIT_MS = 5000
FIRST_S = 0.0005
LAST_S = 0.02


class Turn:
    """Waits for a lock file; `with Turn(path) as taken` tells whether it was had in time."""

    __slots__ = ("_fd", "_path", "_wait_ms")

    def __init__(self, path: str, *, wait_ms: int = WAIT_MS) -> None:
        self._path = path
        self._wait_ms = wait_ms
        self._fd = -1

    def __enter__(self) -> bool:
        """Wait for the lock and take it; give up after the bound."""
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = clock.monotonic_ms() + self._wait_ms
        pause_s = FIRST_S
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if clock.monotonic_ms() >= deadline:
                    return False
            clock.sleep(pause_s)
            pause_s = min(pause_s * 2, LAST_S)

    def __exit__(self, *_: object) -> None:
        """Let the lock go."""
        os.close(self._fd)
