"""inotify(7) by ctypes: which files of a directory somebody has written to.

The packages for it cost 21 to 49 ms of import (BUS-FACTS, Waking a follower); this costs what
ctypes costs.
"""

from __future__ import annotations

import os
import struct

IN_MODIFY = 0x002
IN_CLOSE_WRITE = 0x008
IN_MOVED_TO = 0x080
IN_CREATE = 0x100
IN_DELETE_SELF = 0x400
IN_MOVE_SELF = 0x800
IN_Q_OVERFLOW = 0x4000
IN_IGNORED = 0x8000
IN_ONLYDIR = 0x0100_0000
WRITTEN = IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE
GONE = IN_DELETE_SELF | IN_MOVE_SELF
LOST = ""  # the name that stands for a full queue, and for a directory that went
_HEAD = struct.Struct("iIII")
_BUFFER = 1 << 16


class Inotify:
    """A descriptor that becomes readable when a file in a watched directory is written to.

    Raises OSError where the system has no inotify, or gives this user no more of them.
    """

    __slots__ = ("_libc", "fd")

    def __init__(self) -> None:
        import ctypes  # 5 ms, which only those pay who wait

        self._libc = ctypes.CDLL(None, use_errno=True)
        try:
            make = self._libc.inotify_init1
        except AttributeError as error:
            raise OSError("this system has no inotify") from error
        self.fd = int(make(os.O_NONBLOCK | os.O_CLOEXEC))
        if self.fd < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def watch(self, directory: str) -> int:
        """Watch what is written in a directory; return the watch's number, or raise OSError."""
        import ctypes

        mask = WRITTEN | GONE | IN_ONLYDIR
        number = int(self._libc.inotify_add_watch(self.fd, os.fsencode(directory), mask))
        if number < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), directory)
        return number

    def take(self) -> set[tuple[int, str]]:
        """Return (watch, file name) of what was written since the last call; never blocks."""
        found: set[tuple[int, str]] = set()
        while True:
            try:
                data = os.read(self.fd, _BUFFER)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                watch, mask, _, length = _HEAD.unpack_from(data, at)
                name = data[at + _HEAD.size : at + _HEAD.size + length].rstrip(b"\0")
                at += _HEAD.size + length
                is_lost = mask & (GONE | IN_Q_OVERFLOW | IN_IGNORED)
                found.add((watch, LOST if is_lost else os.fsdecode(name)))

    def close(self) -> None:
        """Let the descriptor and its watches go."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
