"""The signal that ends the waits of one call: a flag, and a descriptor that wakes."""

from __future__ import annotations

import os
import threading

POLLIN = 1  # the same on every known system; importing `select` is for those who poll


class Cancelled(Exception):
    """The client has cancelled the call, or has gone away while it waited."""


class Stop:
    """A signal that is given once; `close` releases its descriptors.

    At the end of the input only waits end, and a result is still sent.
    """

    __slots__ = ("_is_cancelled", "_lock", "_pipe", "is_given")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe: tuple[int, int] | None = None
        self.is_given = False
        self._is_cancelled = False

    def give(self, *, cancels: bool) -> None:
        """Give the signal: the input has ended, or the client `cancels` this call."""
        with self._lock:
            self.is_given = True
            self._is_cancelled = self._is_cancelled or cancels
            if self._pipe is not None:
                os.write(self._pipe[1], b"!")

    def descriptors(self) -> dict[int, int]:
        """Return the descriptor that becomes readable, with its poll(2) events."""
        with self._lock:
            if self._pipe is None:
                self._pipe = os.pipe()
                if self.is_given:
                    os.write(self._pipe[1], b"!")
            return {self._pipe[0]: POLLIN}

    def unwanted(self) -> bool:
        """Return whether the client has cancelled the call, so that it wants no answer."""
        return self._is_cancelled

    def check(self) -> None:
        """Raise Cancelled if the signal was given."""
        if self.is_given:
            raise Cancelled

    def close(self) -> None:
        """Close the descriptors."""
        with self._lock:
            if self._pipe is not None:
                for fd in self._pipe:
                    os.close(fd)
                self._pipe = None
