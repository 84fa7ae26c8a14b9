"""A pty between the caller's terminal and the agent; sizes and keys are passed on.

The modes of the caller's terminal are restored in every case: by the heir if we are killed.
"""

from __future__ import annotations

import fcntl
import os
import termios

INPUT, OUTPUT, LOCAL, CONTROL, CHARACTERS = 0, 1, 3, 2, 6  # indexes in termios' attribute list


class Terminal:
    """A pty for an agent whose output is copied to the terminal `out`.

    If `keys` is a terminal too, keys typed there are passed to the agent byte by byte, and the pty
    handles them as the caller's terminal did. `slave` is held open so that an agent which closes
    its output may open /dev/tty again.
    """

    __slots__ = ("_saved", "keys", "master", "out", "path", "slave")

    def __init__(self, *, keys: int | None, out: int) -> None:
        self.keys = keys
        self.out = out
        self.master, self.slave = os.openpty()
        self.path = os.ttyname(self.slave)
        self._saved: list[object] | None = None
        modes = termios.tcgetattr(out)
        if keys is None:  # the caller's terminal still turns \n into \r\n itself
            modes[OUTPUT] &= ~termios.OPOST
        termios.tcsetattr(self.slave, termios.TCSANOW, modes)
        self.resize()

    def resize(self) -> None:
        """Give the pty the size of the caller's terminal; the kernel signals the agent."""
        try:
            size = fcntl.ioctl(self.out, termios.TIOCGWINSZ, bytes(8))
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)
        except OSError:  # the terminal was closed
            return

    def make_raw(self) -> None:
        """Pass keys on as they are typed, also ^C, from now until `restore`."""
        if self.keys is None or self._saved is not None:
            return
        try:
            saved = termios.tcgetattr(self.keys)
            raw = termios.tcgetattr(self.keys)
            _set_raw(raw)
            termios.tcsetattr(self.keys, termios.TCSANOW, raw)
        except termios.error:  # the terminal was closed
            return
        self._saved = saved

    def restore(self) -> None:
        """Restore the modes of the caller's terminal; safe to repeat."""
        if self.keys is None or self._saved is None:
            return
        saved, self._saved = self._saved, None
        try:
            termios.tcsetattr(self.keys, termios.TCSANOW, saved)  # type: ignore[arg-type]
        except termios.error:  # the terminal was closed
            return

    def copy_keys(self) -> TerminalCopy | None:
        """Return the caller's terminal for the heir; None without keys."""
        if self.keys is None:
            return None
        try:
            saved = termios.tcgetattr(self.keys)
            return TerminalCopy(os.dup(self.keys), saved)
        except (termios.error, OSError):  # the terminal was closed
            return None

    def close_slave(self) -> None:
        """Close our copy of the agent's side, so that its output can end."""
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1


class TerminalCopy:
    """A descriptor of a terminal, and its modes before it became raw."""

    __slots__ = ("_saved", "fd")

    def __init__(self, fd: int, saved: list[object]) -> None:
        self.fd = fd
        self._saved = saved

    def restore(self) -> None:
        """Restore the modes, unless a shell has changed them already; close the descriptor."""
        raw = list(self._saved)
        _set_raw(raw)
        try:
            if termios.tcgetattr(self.fd) == raw:
                termios.tcsetattr(self.fd, termios.TCSANOW, self._saved)  # type: ignore[arg-type]
        except termios.error:  # the terminal was closed
            pass
        self.close()

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.fd)


def _set_raw(modes: list[object]) -> None:
    """Set the attributes of a raw terminal (termios(3), cfmakeraw)."""
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
