"""The tool calls of a running agent, as `tool_use` messages.

The thread that reads the agent's output collects them. The thread of its heartbeats publishes one
message for all calls since the last one, so a busy agent sends no more messages than heartbeats.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.bus.limits.rules_secrets import redacted
from gitworker.bus.publish import Outgoing, publish
from gitworker.model.message import MessageType

if TYPE_CHECKING:
    from gitworker.store.api import Writer

CALLS_SHOWN = 10  # of one message; the others are only counted
CHARS_SHOWN = 200  # of one call


class ToolUses:
    """Tool calls that are not published yet: their number, and the newest of them as lines."""

    __slots__ = ("_lines", "_lock", "_number")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._lines: deque[str] = deque(maxlen=CALLS_SHOWN)

    def add(self, line: str) -> None:
        """Count a call, as a line of the log."""
        with self._lock:
            self._number += 1
            self._lines.append(line)

    @property
    def pending(self) -> tuple[int, list[str]]:
        """Return the number of calls, and the newest of them, oldest first."""
        with self._lock:
            return self._number, list(self._lines)

    def settle(self, number: int) -> None:
        """Forget the oldest calls: they are published."""
        with self._lock:
            self._number -= number
            while len(self._lines) > self._number:
                self._lines.popleft()


def publish_tool_uses(writer: Writer, tools: ToolUses, *, worker: str, task: str, run: int) -> int:
    """Publish one message for the calls of a run; return their number, for `settle`.

    Secrets in them are `[redacted]`, and long calls are cut.
    """
    number, lines = tools.pending
    if number:
        calls = [_cut(redacted(line)) for line in lines]
        payload = {"message": calls[-1], "count": number, "calls": calls, "run": run}
        message = Outgoing(
            MessageType.TOOL_USE, sender=worker, correlation_id=task, payload=payload
        )
        publish(writer, message, now=clock.now_ms())
    return number


def _cut(line: str) -> str:
    return line if len(line) <= CHARS_SHOWN else line[: CHARS_SHOWN - 1] + "…"
