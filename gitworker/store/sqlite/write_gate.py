"""The writers' gate: an flock on the file beside the database, held for each write."""

import fcntl
import os

from gitworker import clock
from gitworker.errors import BUSY, READ_ONLY, Conflict, Unavailable
from gitworker.paths import read_only_error

GATE_TIMEOUT_MS = 20_000


class WriteGate:
    """An flock that serialises writers; it ends with its holder.

    With `keep` the file stays open between uses, until `close`.
    """

    __slots__ = ("_fd", "_keep", "_path", "timeout_ms")

    def __init__(self, path: str, *, keep: bool = False) -> None:
        self.timeout_ms = GATE_TIMEOUT_MS
        self._path = path
        self._keep = keep
        self._fd = -1

    def __enter__(self) -> None:
        """Wait for the lock and take it."""
        if self._fd < 0:
            self._fd = _open_gate(self._path)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait()

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        if self._keep:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        else:
            self.close()

    def _wait(self) -> None:
        try:
            _wait_for_lock(self._fd, self.timeout_ms)
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        """Close the file if it is still open."""
        self.close()

    def close(self) -> None:
        """Release the lock and close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _open_gate(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        if error.strerror == READ_ONLY:
            raise read_only_error(path) from error
        raise Unavailable(
            f"cannot write to the state directory: {path}: {error.strerror}",
            "git worker doctor",
            code="read_only",
        ) from error


def _wait_for_lock(fd: int, timeout_ms: int) -> None:
    """Take the lock; the wait is bounded, so that a stopped process cannot block us for ever."""
    deadline = clock.monotonic_ms() + timeout_ms
    pause_s = 0.0005
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if clock.monotonic_ms() > deadline:
                held = f"another process has held the database for {timeout_ms / 1000:g} s"
                raise Conflict(held, "git worker doctor", code=BUSY) from None
            clock.sleep(pause_s)
            pause_s = min(pause_s * 2, 0.005)
