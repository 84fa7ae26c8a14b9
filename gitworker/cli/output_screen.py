"""A full-screen view that is redrawn without flicker; the terminal is restored afterwards.

It uses the terminal's alternate screen with the cursor hidden. The end of the command (an error,
Ctrl-C, a termination signal) restores the normal screen. Ctrl-Z restores it until the command
continues.
"""

import os
import select
import signal
import termios
from contextlib import suppress
from types import FrameType
from typing import Any

from gitworker.cli import output
from gitworker.errors import GitWorkerError
from gitworker.processes.signal_pipe import SignalPipe, noted

ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J"  # alternate screen, no cursor, no line wrap
LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
PLAIN = "\x1b[0m"
IN = 0
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
QUIT_KEYS = b"qQ\x04"


class Screen:
    """Draws frames on the terminal of standard output; use it in a `with`.

    `input_fds` are descriptors to poll together with the caller's own. If one of them is ready,
    call `handle`.
    """

    def __init__(self) -> None:
        self._drawn: tuple[object, ...] = ()
        self._signals: SignalPipe | None = None
        self._keyboard: list[Any] | None = None
        self.is_left = False

    @property
    def input_fds(self) -> dict[int, int]:
        """Return the descriptors that report keys, signals and resizes, by poll(2) events."""
        found = {} if self._signals is None else {self._signals.fileno(): select.POLLIN}
        if self._keyboard is not None:
            found[IN] = select.POLLIN
        return found

    def size(self) -> tuple[int, int]:
        """Return the current columns and rows of the terminal."""
        try:
            found = os.get_terminal_size(output.OUT)
        except OSError:
            return 80, 24
        return found.columns or 80, found.lines or 24

    def draw(self, text: str) -> None:
        """Show a text, cut to the terminal's rows; write nothing if it is already shown."""
        size = self.size()
        if (size, text) == self._drawn:
            return
        lines = output.without_commands(text).split("\n")
        rows = size[1]
        if len(lines) > rows:
            hidden = len(lines) - rows + 1
            lines = [*lines[: rows - 1], f"… {hidden} more lines"]
        ends = PLAIN + REST_OF_LINE
        output.answer_frame(HOME + f"{ends}\r\n".join(lines) + ends + REST_OF_SCREEN)
        self._drawn = (size, text)

    def handle(self) -> None:
        """Read pending keys and signals; set `is_left` if the user quits."""
        if self._signals is not None:
            self._signals.take()
        if self._keyboard is not None:
            poll = select.poll()
            poll.register(IN, select.POLLIN)
            if poll.poll(0):
                typed = b""  # a closed terminal gives no input
                with suppress(OSError):
                    typed = os.read(IN, 1024)
                self.is_left = not typed or any(key in QUIT_KEYS for key in typed)

    def __enter__(self) -> "Screen":
        """Take over the terminal."""
        handlers = dict.fromkeys(ENDING, _ended)
        self._signals = SignalPipe({signal.SIGWINCH: noted, **handlers, signal.SIGTSTP: self._stop})
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the terminal."""
        self._give_back()
        if self._signals is not None:
            self._signals.release()

    def _take(self) -> None:
        if output.is_terminal(IN):
            self._keyboard = termios.tcgetattr(IN)
            quiet = termios.tcgetattr(IN)
            quiet[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(IN, termios.TCSADRAIN, quiet)
        self._drawn = ()
        output.answer_frame(ENTER)

    def _give_back(self) -> None:
        with suppress(OSError, GitWorkerError):  # a closed terminal cannot be restored
            output.answer_frame(LEAVE)
        if self._keyboard is not None:
            with suppress(termios.error):
                termios.tcsetattr(IN, termios.TCSAFLUSH, self._keyboard)

    def _stop(self, number: int, _: FrameType | None) -> None:
        """Handle Ctrl-Z: restore the terminal, stop the process, take the terminal again."""
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._stop)
        self._take()


def _ended(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
