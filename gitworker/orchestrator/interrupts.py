"""The interrupts of a run: the first ends the launching, the second stops the agents."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import FrameType

HEARD = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Counts the interrupts within a `with`; from the third on they have their usual effect.

    Outside the main thread, which alone gets signals, nothing is counted.
    """

    def __init__(self) -> None:
        self.number = 0
        self._read, self._write = -1, -1

    def __enter__(self) -> Self:
        """Begin to count."""
        if threading.current_thread() is not threading.main_thread():
            return self
        self._read, self._write = os.pipe()
        for fd in (self._read, self._write):
            os.set_blocking(fd, False)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._before = {int(number): signal.signal(number, self._note) for number in HEARD}
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the previous handlers."""
        if self._read < 0:
            return
        for number, before in self._before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._read)
        os.close(self._write)

    def fileno(self) -> int:
        """Return a descriptor that is readable after an interrupt; -1 if none is counted."""
        return self._read

    def take(self) -> None:
        """Empty the descriptor."""
        try:
            while self._read >= 0 and os.read(self._read, 1024):
                pass
        except BlockingIOError:
            return

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.number += 1
        if self.number > 1:
            signal.signal(number, self._before[number] or signal.SIG_DFL)
