"""What happened, in the order of time: transitions and messages as one sequence of events.

A message that only repeats a worker's transition is left out by the queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.observe.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.store.api import Reader, Row

# What a payload may say in one phrase, the most telling first.
TELLING = (
    "subject",
    "note",
    "reason",
    "message",
    "text",
    "question",
    "error",
    "verdict",
    "commit",
    "branch",
)
ELSE_SHOWN = 200
MACHINE_NAMES = {"worker": ""}  # every other machine is named before its entity


class Event(NamedTuple):
    """A transition or a message. `who` is the entity that moved, or the sender; `what` the event
    of the machine, or the message's type; `body` the JSON text of metadata or payload.
    """

    ts_ms: int
    seq: int
    kind: str  # "transition" or "message"
    who: str
    what: str
    actor: str | None = None
    machine: str | None = None
    from_state: str | None = None
    to_state: str | None = None
    to: str | None = None
    task: str | None = None
    body: str | None = None
    body_ref: str | None = None


def read_newest_events(reader: Reader, limit: int) -> tuple[Event, ...]:
    """Return the last events of everything but single tasks, newest last."""
    transitions = reader.rows("observe.seat_transitions", limit=limit)
    return _merged(transitions, reader.rows("observe.messages", limit=limit), limit)


def read_all_events(reader: Reader, limit: int) -> tuple[Event, ...]:
    """Return the last events of everything, newest last."""
    transitions = reader.rows("transitions.newest", limit=limit)
    return _merged(transitions, reader.rows("observe.messages", limit=limit), limit)


def read_worker_events(
    reader: Reader, *, worker: str, task: str | None, limit: int
) -> tuple[Event, ...]:
    """Return the last events of one seat and its task, newest last."""
    about = {"worker": worker, "task": task, "limit": limit}
    transitions = reader.rows("observe.transitions_of_worker", **about)
    return _merged(transitions, reader.rows("observe.messages_of_worker", **about), limit)


def event_text(event: Event) -> str:
    """Return an event in words, without its time, safe for a terminal."""
    if event.kind == "transition":
        name = " ".join(filter(None, (MACHINE_NAMES.get(event.machine or "", event.machine),
                                      event.who)))  # fmt: skip
        text = f"{name}  {event.from_state} → {event.to_state}  {event.what}"
        text += f" by {event.actor}" if event.actor and event.actor != event.who else ""
    else:
        to = f" → {event.to}" if event.to else ""
        text = f"{event.who}{to}  {event.what}" + (f"  {event.task}" if event.task else "")
    said = _summary(event)
    return one_line(f"{text}: {said}" if said else text)


def json_event(event: Event) -> dict[str, Any]:
    """Return an event as JSON data, its metadata or payload decoded where it is JSON."""
    head = {"at": clock.iso_utc(event.ts_ms), "kind": event.kind, "seq": event.seq}
    if event.kind == "transition":
        return head | {
            "machine": event.machine, "entity": event.who, "from": event.from_state,
            "to": event.to_state, "event": event.what, "actor": event.actor,
            "metadata": _decoded(event.body),
        }  # fmt: skip
    return head | {
        "from": event.who, "to": event.to, "type": event.what, "correlation_id": event.task,
        "payload": _decoded(event.body), "payload_ref": event.body_ref,
    }  # fmt: skip


def _merged(transitions: Sequence[Row], messages: Sequence[Row], limit: int) -> tuple[Event, ...]:
    """Merge by time; at one moment a transition comes before the messages it caused."""
    events = [_transition(row) for row in transitions] + [_message(row) for row in messages]
    events.sort(key=lambda event: (event.ts_ms, event.kind != "transition", event.seq))
    return tuple(events[-limit:]) if limit > 0 else ()


def _transition(row: Row) -> Event:
    return Event(
        ts_ms=row["ts_ms"], seq=row["seq"], kind="transition", who=row["entity_id"],
        what=row["event"], actor=row["actor"], machine=row["machine"],
        from_state=row["from_state"], to_state=row["to_state"], body=row["metadata"],
    )  # fmt: skip


def _message(row: Row) -> Event:
    return Event(
        ts_ms=row["ts_ms"], seq=row["seq"], kind="message", who=row["from_agent"],
        what=row["type"], to=row["to_agent"], task=row["correlation_id"], body=row["payload"],
        body_ref=row["payload_ref"],
    )  # fmt: skip


def _summary(event: Event) -> str:
    """Return what the metadata or payload says in one phrase; a message says something always."""
    if event.body_ref:
        return event.body_ref
    body = _decoded(event.body)
    if isinstance(body, dict):
        for key in TELLING:
            if isinstance(body.get(key), str) and body[key]:
                return str(body[key])
    if event.kind == "transition" or not event.body or event.body == "{}":
        return ""
    return event.body[:ELSE_SHOWN]


def _decoded(text: str | None) -> Any:
    """Return JSON data, the text itself where it is no JSON."""
    import json  # 3 ms, and `status` may have no event to show

    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text
