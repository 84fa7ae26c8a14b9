"""An agent's output without secrets, line by line: a secret may be written in two pieces."""

from __future__ import annotations

from gitworker.bus.limits.rules_secrets import redacted_bytes

HELD_AT_MOST = 4096  # bytes of a line without an end


class RedactedLines:
    """Take output in pieces of any size; return whole lines in which secrets are `[redacted]`."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    @property
    def is_holding(self) -> bool:
        """Return whether the beginning of a line waits for its end."""
        return bool(self._rest)

    def feed(self, data: bytes) -> bytes:
        """Return the lines that end in `data`; a long line is returned up to its last blank.

        Output with a NUL has no lines, and nothing of it is held.
        """
        if self._rest:
            data = self._rest + data
            self._rest = b""
        if b"\0" in data:
            return redacted_bytes(data)
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if len(data) - end > HELD_AT_MOST:
            end = data.rfind(b" ", -HELD_AT_MOST) + 1 or len(data)
        self._rest = data[end:]
        return redacted_bytes(data[:end])

    def end(self) -> bytes:
        """Return the rest, also if its line has not ended."""
        rest, self._rest = self._rest, b""
        return redacted_bytes(rest)
