"""The log of an agent (`.worker.log`): its last lines, and the lines written from now on.

It is followed by name, as with `tail -F`: the file may appear later, be rotated, or be truncated.
"""

from __future__ import annotations

import os
from contextlib import suppress
from stat import S_ISREG
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.paths import agent_log_elsewhere

if TYPE_CHECKING:
    from gitworker.store.workers import Worker

LOG_NAME = ".worker.log"
KEPT_SUFFIX = ".log"
BLOCK = 64 * 1024  # read at once; a longer line is returned in parts
PAUSE_MS = 1000  # then the output of a full-screen program is returned, which ends few lines
ESCAPE = b"\x1b["
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO does not block us
READ_AT_MOST = 16 * BLOCK  # per call, so that a flood of output does not delay the rest


def worktree_log(worktree: str | None) -> str | None:
    """Return the path of an agent's log in its worktree; None without a worktree."""
    return None if worktree is None else f"{worktree}/{LOG_NAME}"


def find_agent_log(kept_logs: str, worker: Worker) -> str | None:
    """Return the path of an agent's log, or None.

    It is in the worktree, where it need not exist yet; without a worktree it is the copy that was
    kept when the worktree was removed.
    """
    path = worktree_log(worker.worktree)
    if path is not None:
        other = agent_log_elsewhere(kept_logs, f"{worker.worker_id}-{worker.task_id}")
        return other if _changed_ns(other) > _changed_ns(path) else path
    if not os.path.isdir(kept_logs):
        return None
    begin = f"{worker.worker_id}-{worker.task_id}-"  # then the operation that removed the worktree
    operations = [
        int(number)
        for name in os.listdir(kept_logs)
        if (number := name.removeprefix(begin).removesuffix(KEPT_SUFFIX)).isdecimal()
        and name == f"{begin}{number}{KEPT_SUFFIX}"
    ]
    return f"{kept_logs}/{begin}{max(operations)}{KEPT_SUFFIX}" if operations else None


def last_lines(path: str, number: int, *, begin: int = 0) -> tuple[list[str], int]:
    """Return the last lines of a file, complete or not, and its modification time in milliseconds.

    Return no lines and 0 if the file does not exist. Reads from the end, as far as needed, and not
    before the byte `begin`, unless the file is shorter than that: it was rotated then.
    """
    try:
        with open(os.open(path, READING), "rb") as file:
            found = os.fstat(file.fileno())
            if not S_ISREG(found.st_mode):
                return [], 0
            size = found.st_size
            lines = _last(file.fileno(), size, number, begin if begin <= size else 0)
            return lines, found.st_mtime_ns // 1_000_000
    except OSError:
        return [], 0


def first_bytes(path: str, number: int) -> bytes:
    """Return the beginning of a file; nothing if it does not exist."""
    try:
        with open(os.open(path, READING), "rb") as file:
            return file.read(number) if S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return b""


def log_size(path: str | None) -> int:
    """Return the size of a log in bytes; 0 if it does not exist."""
    try:
        return 0 if path is None else os.stat(path).st_size
    except OSError:
        return 0


class Tail:
    """Read the lines written to a file from now on; a file that appears later from its start.

    With `whole` also its present content, from the byte `start` on. Without a path there are no
    lines.
    """

    def __init__(self, path: str | None, *, whole: bool = False, start: int = 0) -> None:
        self.path = path
        self._fd = -1
        self._rest = b""
        self._changed_ms = 0
        self._open()
        if self._fd >= 0:
            os.lseek(self._fd, start if whole else 0, os.SEEK_SET if whole else os.SEEK_END)

    def __del__(self) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def read(self) -> list[str]:
        """Return the lines completed since the last call, one mebibyte at most.

        A line with terminal codes counts as complete after a pause.
        """
        data = self._new_bytes()
        now_ms = clock.monotonic_ms()
        if not data:
            has_paused = ESCAPE in self._rest and now_ms - self._changed_ms >= PAUSE_MS
            return self.rest() if has_paused else []
        self._changed_ms = now_ms
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > BLOCK:
            lines.append(self._rest)
            self._rest = b""
        return [_text(line) for line in lines]

    def rest(self) -> list[str]:
        """Return the last line, if it has no end yet; the log is complete, or has paused."""
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []

    def _new_bytes(self) -> bytes:
        if self._fd < 0:
            self._open()
        if self._fd < 0:
            return b""
        data = self._read()
        if data or not self._was_replaced():
            return data
        data = self._read()  # written between our read and the replacement of the file
        if data:
            return data
        self.close()
        self._open()
        return b"" if self._fd < 0 else self._read()

    def _read(self) -> bytes:
        if os.fstat(self._fd).st_size < os.lseek(self._fd, 0, os.SEEK_CUR):
            os.lseek(self._fd, 0, os.SEEK_SET)  # truncated and written again
        return os.read(self._fd, READ_AT_MOST)

    def _was_replaced(self) -> bool:
        """Return True if the name refers to another file now, or to none."""
        assert self.path is not None
        ours = os.fstat(self._fd)
        try:
            now = os.stat(self.path)
        except OSError:
            return True
        return (ours.st_dev, ours.st_ino) != (now.st_dev, now.st_ino)

    def _open(self) -> None:
        if self.path is not None:
            with suppress(OSError):
                self._fd = os.open(self.path, READING)
        if self._fd >= 0 and not S_ISREG(os.fstat(self._fd).st_mode):
            self.close()


def _changed_ns(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _last(fd: int, size: int, number: int, begin: int) -> list[str]:
    data, start = b"", size
    while start > begin and data.count(b"\n") <= number and len(data) < READ_AT_MOST:
        length = min(BLOCK, start - begin)
        start -= length
        data = os.pread(fd, length, start) + data
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [_text(line) for line in lines[-number:]]


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")
