"""The events that a reader of the log asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.observe.logs.events import COMMIT_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.observe.logs.events import Event

DEFAULT_LIMIT = 50
BATCH = 500


class LogFilter(NamedTuple):
    """At most `limit` events (None: all) since a time, of some types (none: every type).

    A type is `transition`, `message`, `commit`, `log`, or the type of a message.
    """

    limit: int | None = DEFAULT_LIMIT
    since_ms: int = 0
    types: frozenset[str] = frozenset()

    def wants(self, event: Event) -> bool:
        """Return whether an event is asked for, whatever the number of the others."""
        return event.ts_ms >= self.since_ms and (
            not self.types or not self.types.isdisjoint(_types_of(event))
        )

    def newest(self, read: Callable[[int], tuple[Event, ...]]) -> tuple[Event, ...]:
        """Return the newest wanted events, newest last; `read` returns the newest of a number."""
        size = BATCH if self.limit is None else self.limit
        while True:
            events = read(size)
            found = tuple(filter(self.wants, events))
            has_enough = self.limit is not None and len(found) >= self.limit
            if has_enough or len(events) < size or events[0].ts_ms < self.since_ms:
                return found if self.limit is None else found[-self.limit :] if size else ()
            size *= 4


def _types_of(event: Event) -> set[str]:
    if event.kind == "commit":
        return {event.kind, COMMIT_TYPE}
    return {event.kind, event.name} if event.kind == "message" else {event.kind}
