"""log: what happened, newest last: the transitions and the messages in the order of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.observe.events import (
    Event,
    event_text,
    json_event,
    read_all_events,
    read_worker_events,
)
from gitworker.observe.text import DIM, cut, paint

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker

DEFAULT_LIMIT = 50


@dataclass(frozen=True, slots=True)
class Log:
    """Events in the order of time; `worker` is None where they are everybody's."""

    worker: str | None
    events: tuple[Event, ...]


def read_log(session: Session, worker: Worker | None, *, limit: int = DEFAULT_LIMIT) -> Log:
    """Return the last `limit` events, of one worker and its task or of everything."""
    with session.store.read() as reader:
        if worker is None:
            return Log(None, read_all_events(reader, limit))
        name = worker.worker_id
        events = read_worker_events(reader, worker=name, task=worker.task_id, limit=limit)
    return Log(name, events)


def render_log(log: Log, *, width: int | None, color: bool) -> str:
    """Return one line per event: its time (UTC), then what happened."""
    if not log.events:
        return "nothing has happened yet"
    lines = []
    for event in log.events:
        stamp = clock.iso_utc_seconds(event.ts_ms)
        room = None if width is None else width - len(stamp) - 2
        lines.append(f"{paint(stamp, DIM, color=color)}  {cut(event_text(event), room)}")
    return "\n".join(lines)


def json_log(log: Log) -> dict[str, Any]:
    """Return the events as JSON data."""
    return {"worker": log.worker, "events": [json_event(event) for event in log.events]}
