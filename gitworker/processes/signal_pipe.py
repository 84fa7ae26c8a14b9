"""Signals as a descriptor: a loop that waits in poll(2) reads their numbers from it."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # `typing` costs a supervisor 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    Handler = Callable[[int, FrameType | None], object] | int | None


class SignalPipe:
    """Installs handlers until `release`; main thread only. The number of a signal can be read."""

    def __init__(self, handlers: Mapping[signal.Signals, Handler]) -> None:
        self._read, self._write = os.pipe()
        for fd in (self._read, self._write):
            os.set_blocking(fd, False)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self.before: dict[int, Handler] = {
            int(number): signal.signal(number, handler) for number, handler in handlers.items()
        }

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when a signal arrives; -1 after `release`."""
        return self._read

    def take(self) -> list[int]:
        """Return the signals that arrived since the last call; never blocks."""
        found = b""
        try:
            while part := os.read(self._read, 1024):
                found += part
        except OSError:  # empty, or released
            pass
        return list(found)

    def release(self) -> None:
        """Restore the previous handlers; safe to repeat."""
        if self._read < 0:
            return
        for number, before in self.before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._read)
        os.close(self._write)
        self._read = self._write = -1


def noted(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: Python has written the number to the descriptor."""
