"""A whole screen that is drawn again and again: no flicker, and the terminal as it was afterwards.

It lives on the terminal's alternate screen, with the cursor hidden. Whatever ends the command (an
error, Ctrl-C, a signal to terminate) leaves that screen; Ctrl-Z leaves it until the command
goes on.
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

ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J"  # alternate screen, no cursor, no line wrap
LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
PLAIN = "\x1b[0m"
IN = 0
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
QUIT_KEYS = b"qQ\x04"


class Screen:
    """Draws frames on the terminal of standard output; use it in a `with`.

    `news` tells which descriptors to wait for beside one's own; `handle` is to be called when one
    of them has something.
    """

    def __init__(self) -> None:
        self._drawn: tuple[object, ...] = ()
        self._before: dict[int, Any] = {}
        self._wake_read, self._wake_write = -1, -1
        self._keyboard: list[Any] | None = None
        self.is_left = False

    @property
    def news(self) -> dict[int, int]:
        """Return the descriptors, with poll(2) events, that speak of keys, signals and sizes."""
        found = {self._wake_read: select.POLLIN}
        if self._keyboard is not None:
            found[IN] = select.POLLIN
        return found

    def size(self) -> tuple[int, int]:
        """Return the columns and rows of the terminal as it is now."""
        try:
            found = os.get_terminal_size(output.OUT)
        except OSError:
            return 80, 24
        return found.columns or 80, found.lines or 24

    def draw(self, text: str) -> None:
        """Show a text, cut to the rows there are; writes nothing where that is shown already."""
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
        """Take the keys typed and the signals that came; `is_left` where the user wants to go."""
        _emptied(self._wake_read)
        if self._keyboard is not None:
            poll = select.poll()
            poll.register(IN, select.POLLIN)
            if poll.poll(0):
                typed = b""  # a terminal that has gone says nothing more
                with suppress(OSError):
                    typed = os.read(IN, 1024)
                self.is_left = not typed or any(key in QUIT_KEYS for key in typed)

    def __enter__(self) -> "Screen":
        """Take the terminal."""
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        self._before = {signal.SIGWINCH: signal.signal(signal.SIGWINCH, _noted)}
        for number in ENDING:
            self._before[number] = signal.signal(number, _ended)
        self._before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._stop)
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the terminal back as it was."""
        self._give_back()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _take(self) -> None:
        if output.is_terminal(IN):
            self._keyboard = termios.tcgetattr(IN)
            quiet = termios.tcgetattr(IN)
            quiet[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(IN, termios.TCSADRAIN, quiet)
        self._drawn = ()
        output.answer_frame(ENTER)

    def _give_back(self) -> None:
        with suppress(OSError, GitWorkerError):  # a terminal that has gone wants nothing back
            output.answer_frame(LEAVE)
        if self._keyboard is not None:
            with suppress(termios.error):
                termios.tcsetattr(IN, termios.TCSAFLUSH, self._keyboard)

    def _stop(self, number: int, _: FrameType | None) -> None:
        """Ctrl-Z: give the terminal back, stop as anybody does, and take it again afterwards."""
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._stop)
        self._take()


def _noted(number: int, frame: FrameType | None) -> None:
    """Do nothing: the wake-up descriptor has told of the signal."""


def _ended(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _emptied(fd: int) -> None:
    try:
        while os.read(fd, 512):
            pass
    except BlockingIOError:
        return
