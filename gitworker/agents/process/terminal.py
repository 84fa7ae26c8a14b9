"""The terminal between the caller's and the agent: a pty of its own, sizes and keys passed on.

Whatever happens, the caller's terminal gets its modes back.
"""

from __future__ import annotations

import fcntl
import os
import termios

INPUT, OUTPUT, LOCAL, CONTROL, CHARACTERS = 0, 1, 3, 2, 6  # places in termios' list of attributes


class Terminal:
    """A pty for an agent whose output goes to the terminal `out`.

    Where `keys` is a terminal too, what is typed there goes to the agent, byte by byte, and the
    pty does what the caller's terminal did with it. `slave` is held open so that an agent which
    closes its output may open /dev/tty again.
    """

    __slots__ = ("_kept", "keys", "master", "out", "path", "slave")

    def __init__(self, *, keys: int | None, out: int) -> None:
        self.keys = keys
        self.out = out
        self.master, self.slave = os.openpty()
        self.path = os.ttyname(self.slave)
        self._kept: list[object] | None = None
        modes = termios.tcgetattr(out)
        if keys is None:  # the caller's terminal goes on turning \n into \r\n itself
            modes[OUTPUT] &= ~termios.OPOST
        termios.tcsetattr(self.slave, termios.TCSANOW, modes)
        self.resize()

    def resize(self) -> None:
        """Give the pty the size of the caller's terminal; the system tells the agent."""
        try:
            size = fcntl.ioctl(self.out, termios.TIOCGWINSZ, bytes(8))
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)
        except OSError:  # the terminal has gone
            return

    def make_raw(self) -> None:
        """Pass keys on as they are typed, ^C too, from now until `restore`."""
        if self.keys is None or self._kept is not None:
            return
        try:
            kept = termios.tcgetattr(self.keys)
            raw = termios.tcgetattr(self.keys)
            _cook_nothing(raw)
            termios.tcsetattr(self.keys, termios.TCSANOW, raw)
        except termios.error:  # the terminal has gone
            return
        self._kept = kept

    def restore(self) -> None:
        """Give the caller's terminal its modes back; safe to repeat."""
        if self.keys is None or self._kept is None:
            return
        kept, self._kept = self._kept, None
        try:
            termios.tcsetattr(self.keys, termios.TCSANOW, kept)  # type: ignore[arg-type]
        except termios.error:  # the terminal has gone
            return

    def close_slave(self) -> None:
        """Let go of our hold on the agent's side: what is left of its output ends then."""
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1


def _cook_nothing(modes: list[object]) -> None:
    """Make attributes those of a raw terminal (termios(3), cfmakeraw)."""
    flags = [int(flag) for flag in modes[:4]]  # type: ignore[call-overload]
    flags[INPUT] &= ~(
        termios.IGNBRK | termios.BRKINT | termios.PARMRK | termios.ISTRIP
        | termios.INLCR | termios.IGNCR | termios.ICRNL | termios.IXON
    )  # fmt: skip
    flags[OUTPUT] &= ~termios.OPOST
    flags[LOCAL] &= ~(
        termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN
    )
    flags[CONTROL] = flags[CONTROL] & ~(termios.CSIZE | termios.PARENB) | termios.CS8
    modes[:4] = flags
    characters = list(modes[CHARACTERS])  # type: ignore[call-overload]
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    modes[CHARACTERS] = characters
