"""An agent's output as text for people: its stream is read line by line while it is copied."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable

from gitworker.agents.adapters.rules_failure import Failure, find_failure
from gitworker.agents.adapters.stream_dialects import DIALECTS, end_line
from gitworker.agents.adapters.stream_facts import StreamFacts, with_end

LINE_MAX_BYTES = 8 * 1024 * 1024  # a longer event is dropped
STRANGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
LINES_KEPT = 30  # of plain output, in which a failure is looked for


class Transcript:
    """Translate the bytes of standard output; collect facts from them and from standard error.

    `on_usage` is called after each report of tokens, in the thread that reads.
    """

    def __init__(self, stream: str) -> None:
        self.facts = StreamFacts()
        self.on_usage: Callable[[], object] = lambda: None
        self._read = DIALECTS.get(stream)
        self._rest = b""
        self._is_dropping = False
        self._error = ""
        self._has_sum = False
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._ended = threading.Event()

    @property
    def failure(self) -> Failure | None:
        """Return the failure that the agent reported, in its stream or in plain words."""
        if self.facts.failure is None and (found := find_failure(list(self._lines))):
            self.facts.failure = with_end(found)
        return self.facts.failure

    @property
    def commands(self) -> list[str] | None:
        """Return the commands that the agent ran so far; None if its output does not show them."""
        return None if self._read is None else list(self.facts.commands)

    def output(self, data: bytes | None) -> bytes:
        """Return the text of the next bytes of standard output; None ends it."""
        if self._read is None:
            self._keep(data or b"")
            if data is None:
                self._ended.set()
            return data or b""
        lines = (self._rest + (data if data is not None else b"\n")).split(b"\n")
        self._rest = lines.pop()
        before = self.facts.usage
        text = "".join(self._line(line) for line in lines)
        if self.facts.usage != before:
            self.on_usage()
        if len(self._rest) > LINE_MAX_BYTES:
            self._rest, self._is_dropping = b"", True
        if data is None:
            text += self._close()
            self._ended.set()
        return text.encode("utf-8", "replace")

    def error(self, data: bytes | None) -> bytes:
        """Return the next bytes of standard error as they are."""
        self._keep(data or b"")
        return data or b""

    def wait_end(self, timeout_s: float) -> None:
        """Wait until the whole standard output was read, or for that long."""
        self._ended.wait(timeout_s)

    def _close(self) -> str:
        """Return the text that is due at the end: the sum, unless an event had it."""
        has_usage = self.facts.input_tokens is not None and not self._has_sum
        return f"{end_line(self.facts)}\n" if has_usage else ""

    def _line(self, line: bytes) -> str:
        if self._is_dropping:
            self._is_dropping = False
            return "… a longer event\n"
        if not line.strip():
            return ""
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):  # no JSON, or nested too deeply
            event = None
        if isinstance(event, dict) and self._read is not None:
            try:
                texts = list(self._read(event, self.facts))
            except STRANGE:  # values that no version sent so far: the next event counts
                texts = []
            return "".join(f"{text}\n" for text in texts if self._is_new(text))
        self._keep(line)
        return line.decode("utf-8", "replace") + "\n"

    def _is_new(self, text: str) -> bool:
        """Return whether a line is no repetition of the error before it."""
        is_new = text != self._error
        self._has_sum = self._has_sum or text.startswith("= ")
        self._error = text if text.startswith("!") else ""
        return is_new

    def _keep(self, data: bytes) -> None:
        for line in data.decode("utf-8", "replace").splitlines():
            if line.strip():
                self._lines.append(line)
