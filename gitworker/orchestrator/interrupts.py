"""The interrupts of a run: the first ends the launching, the second stops the agents."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Self

from gitworker.processes.signal_pipe import SignalPipe

if TYPE_CHECKING:
    from types import FrameType


class Interrupts:
    """Counts the interrupts within a `with`; from the third on they have their usual effect.

    Outside the main thread, which alone gets signals, nothing is counted.
    """

    def __init__(self) -> None:
        self.number = 0
        self._pipe: SignalPipe | None = None

    def __enter__(self) -> Self:
        """Begin to count."""
        if threading.current_thread() is threading.main_thread():
            self._pipe = SignalPipe({signal.SIGINT: self._note, signal.SIGTERM: self._note})
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the previous handlers."""
        if self._pipe is not None:
            self._pipe.release()

    def fileno(self) -> int:
        """Return a descriptor that is readable after an interrupt; -1 if none is counted."""
        return -1 if self._pipe is None else self._pipe.fileno()

    def take(self) -> None:
        """Empty the descriptor."""
        if self._pipe is not None:
            self._pipe.take()

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.number += 1
        if self.number > 1 and self._pipe is not None:
            signal.signal(number, self._pipe.before[number] or signal.SIG_DFL)
