"""Messages in threads: those about one task, else those between the same two."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.observe.logs.events import event_summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitworker.observe.logs.events import Event


class Line(NamedTuple):
    """One message in a thread."""

    seq: int
    ts_ms: int
    sender: str
    to: str | None
    type: str
    text: str


class Thread(NamedTuple):
    """The messages about one task, oldest first; `task` is None for messages without one."""

    task: str | None
    lines: tuple[Line, ...]

    @property
    def newest_ms(self) -> int:
        """Return the time of the last message."""
        return self.lines[-1].ts_ms


def threads(events: Iterable[Event]) -> list[Thread]:
    """Return the threads, the one with the newest message first."""
    found: dict[str | None, list[Line]] = {}
    for event in events:
        if event.kind != "transition":
            type = "commit" if event.kind == "commit" else event.name
            line = Line(event.seq, event.ts_ms, event.source, event.to, type, event_summary(event))
            found.setdefault(event.task, []).append(line)
    ordered = [Thread(task, tuple(lines)) for task, lines in found.items()]
    return sorted(ordered, key=lambda one: one.newest_ms, reverse=True)
