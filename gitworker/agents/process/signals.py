"""Signals to wait for: their numbers can be read from a descriptor."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    Handler = Callable[[int, FrameType | None], object] | int | None

ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
PASSED_ON = ENDING | {signal.SIGUSR1, signal.SIGUSR2}
SUSPENDING = signal.SIGTSTP
HEARD = (*sorted(PASSED_ON), SUSPENDING, signal.SIGWINCH, signal.SIGCHLD)


class Signals:
    """Collect signals from now until `release`; one that the caller ignores stays ignored."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._before: dict[int, Handler] = {}
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in HEARD:
            before = signal.getsignal(number)
            if before != signal.SIG_IGN or number == signal.SIGCHLD:
                self._before[number] = before
                signal.signal(number, _note)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when a signal arrives."""
        return self._read

    def take(self) -> list[int]:
        """Return the signals that arrived since the last call; never blocks."""
        try:
            return list(os.read(self._read, 1024))
        except BlockingIOError:
            return []

    def release(self) -> None:
        """Restore the previous signal handlers; safe to repeat."""
        if self._read < 0:
            return
        for number, before in self._before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._read)
        os.close(self._write)
        self._read = self._write = -1


def _note(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: Python has written the number to the descriptor."""
