"""The log of an agent (`.worker.log`): its last lines, and what is written to it from now on.

Followed by name, as `tail -F` does: the file may appear later, be rotated, or be cut short.
"""

from __future__ import annotations

import os
from contextlib import suppress
from stat import S_ISREG
from typing import TYPE_CHECKING

from gitworker.paths import agent_log_elsewhere

if TYPE_CHECKING:
    from gitworker.store.workers import Worker

LOG_NAME = ".worker.log"
KEPT_SUFFIX = ".log"
BLOCK = 64 * 1024  # read at once, and the longest line: what is longer comes in parts
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO blocks nobody
READ_AT_MOST = 16 * BLOCK  # by one look, so that a flood of output leaves room for the rest


def worktree_log(worktree: str | None) -> str | None:
    """Return where an agent's log is as long as it has a worktree; None without one."""
    return None if worktree is None else f"{worktree}/{LOG_NAME}"


def find_agent_log(kept: str, worker: Worker) -> str | None:
    """Return the log of a worker's agent: in its worktree, else as kept when that went; or None.

    In the worktree it need not be there yet.
    """
    path = worktree_log(worker.worktree)
    if path is not None:
        other = agent_log_elsewhere(kept, f"{worker.worker_id}-{worker.task_id}")
        return other if _changed_ns(other) > _changed_ns(path) else path
    if not os.path.isdir(kept):
        return None
    begin = f"{worker.worker_id}-{worker.task_id}-"  # then the act that removed the worktree
    acts = [
        int(number)
        for name in os.listdir(kept)
        if (number := name.removeprefix(begin).removesuffix(KEPT_SUFFIX)).isdecimal()
        and name == f"{begin}{number}{KEPT_SUFFIX}"
    ]
    return f"{kept}/{begin}{max(acts)}{KEPT_SUFFIX}" if acts else None


def last_lines(path: str, number: int) -> tuple[list[str], int]:
    """Return a file's last whole or begun lines and its modification time in milliseconds.

    No lines and 0 where there is no such file. Reads from the end, as far as is needed.
    """
    try:
        with open(os.open(path, READING), "rb") as file:
            found = os.fstat(file.fileno())
            if not S_ISREG(found.st_mode):
                return [], 0
            return _last(file.fileno(), found.st_size, number), found.st_mtime_ns // 1_000_000
    except OSError:
        return [], 0


class Tail:
    """What is written to a file from now on, line by line; one that appears later, from its start.

    With `whole` also what is in it already, from the byte `start` on; without a path there is
    nothing to tell.
    """

    def __init__(self, path: str | None, *, whole: bool = False, start: int = 0) -> None:
        self.path = path
        self._fd = -1
        self._rest = b""
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
        """Return the lines that were ended since the last look, a mebibyte at most."""
        data = self._new_bytes()
        if not data:
            return []
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > BLOCK:
            lines.append(self._rest)
            self._rest = b""
        return [_text(line) for line in lines]

    def _new_bytes(self) -> bytes:
        if self._fd < 0:
            self._open()
        if self._fd < 0:
            return b""
        data = self._read()
        if data or not self._is_replaced():
            return data
        data = self._read()  # what came between our look and the change of names
        if data:
            return data
        self.close()
        self._open()
        return b"" if self._fd < 0 else self._read()

    def _read(self) -> bytes:
        if os.fstat(self._fd).st_size < os.lseek(self._fd, 0, os.SEEK_CUR):
            os.lseek(self._fd, 0, os.SEEK_SET)  # cut short, and written anew
        return os.read(self._fd, READ_AT_MOST)

    def _is_replaced(self) -> bool:
        """Tell whether the name leads to another file by now, or nowhere."""
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


def _last(fd: int, size: int, number: int) -> list[str]:
    data, start = b"", size
    while start > 0 and data.count(b"\n") <= number and len(data) < READ_AT_MOST:
        length = min(BLOCK, start)
        start -= length
        data = os.pread(fd, length, start) + data
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [_text(line) for line in lines[-number:]]


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")
