"""Events in order of time: transitions, commits, messages, lines of an agent's log.

The queries leave out messages that only repeat a worker's transition. A commit appears as the
`task_progress` message by which the drain published it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.model.ids import is_oid
from gitworker.model.message import MessageType
from gitworker.observe.inbox.rules_messages import summary_of
from gitworker.observe.logs.rules_events import transition_text
from gitworker.observe.text import one_line, without_escapes
from gitworker.store.messages.events import (
    StoredEvent,
    StoredTransition,
    events_after,
    newest_messages,
    newest_positions,
    newest_transitions,
    transitions_after,
    worker_messages,
    worker_transitions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitworker.store.api import Reader

# The payload fields that make a summary, the most informative first.
SUMMARY_FIELDS = (
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
BODY_SHOWN = 200
SHORT = 10
COMMIT_TYPE = "task_progress"
MACHINE_NAMES = {"worker": ""}  # every other machine is named before its entity


class Event(NamedTuple):
    """One event of the log.

    `source` is the entity that changed, or the sender. `name` is the event of the state machine,
    the message's type, or the commit. `body` is the metadata or payload as JSON text, or the line
    of an agent's log.
    """

    ts_ms: int
    seq: int  # unique within the kind
    kind: str  # "transition", "message", "commit" or "log"
    source: str
    name: str
    actor: str | None = None
    machine: str | None = None
    from_state: str | None = None
    to_state: str | None = None
    to: str | None = None
    task: str | None = None
    body: str | None = None
    body_ref: str | None = None


class LogPosition(NamedTuple):
    """A position of a reader: the sequence numbers of the last transition and message read."""

    transition: int
    message: int


def read_newest_events(reader: Reader, limit: int) -> tuple[Event, ...]:
    """Return the last events, newest last, without tool calls and transitions of single tasks."""
    transitions = newest_transitions(reader, limit, with_tasks=False)
    messages = newest_messages(reader, limit, hidden=MessageType.TOOL_USE)
    return _merged(transitions, messages, limit)


def read_all_events(reader: Reader, limit: int) -> tuple[Event, ...]:
    """Return the last events of every kind, newest last."""
    return _merged(newest_transitions(reader, limit), newest_messages(reader, limit), limit)


def read_worker_events(
    reader: Reader, *, worker: str, task: str | None, limit: int, with_tools: bool = True
) -> tuple[Event, ...]:
    """Return the last events of one worker and its task, newest last."""
    transitions = worker_transitions(reader, worker=worker, task=task, limit=limit)
    hidden = None if with_tools else MessageType.TOOL_USE
    messages = worker_messages(reader, worker=worker, task=task, limit=limit, hidden=hidden)
    return _merged(transitions, messages, limit)


def read_messages_of_worker(
    reader: Reader, *, worker: str, task: str | None, limit: int
) -> list[tuple[Event, Any]]:
    """Return the last messages from and to a worker and about its task, with their payloads.

    Its tool calls are left out.
    """
    rows = worker_messages(
        reader, worker=worker, task=task, limit=limit, hidden=MessageType.TOOL_USE
    )
    return [(event, _decoded(event.body)) for event in map(_message, reversed(rows))]


def read_position(reader: Reader) -> LogPosition:
    """Return the position of the newest transition and message."""
    return LogPosition(*newest_positions(reader))


def read_events_after(
    reader: Reader, after: LogPosition, *, limit: int
) -> tuple[tuple[Event, ...], LogPosition]:
    """Return the events after a position, oldest first, at most `limit` per kind, and the next."""
    transitions = transitions_after(reader, after.transition, limit=limit)
    messages = events_after(reader, after.message, limit=limit)
    position = LogPosition(
        transitions[-1].seq if transitions else after.transition,
        messages[-1].seq if messages else after.message,
    )
    return _in_order(transitions, (one for one in messages if not one.repeats)), position


def log_event(worker: str, line: str, *, ts_ms: int, number: int) -> Event:
    """Return a line of an agent's log as an event; `number` orders lines of the same time."""
    return Event(ts_ms, number, "log", worker, "log", body=line)


def event_text(event: Event) -> str:
    """Return an event as text without its time, safe for a terminal."""
    if event.kind == "log":
        return f"{event.source} | {one_line(without_escapes(event.body or ''))}"
    if event.name == MessageType.STATE_CHANGE:
        event = _as_transition(event)
    if event.kind == "transition":
        name = " ".join(filter(None, (MACHINE_NAMES.get(event.machine or "", event.machine),
                                      event.source)))  # fmt: skip
        before, after = event.from_state or "", event.to_state or ""
        moved = transition_text(event.machine or "", before, after, event.name)
        text = f"{name}  {moved}"
        text += f", by {event.actor}" if event.actor and event.actor != event.source else ""
    else:
        to = f" → {event.to}" if event.to else ""
        name = f"commit {event.name[:SHORT]}" if event.kind == "commit" else event.name
        text = f"{event.source}{to}  {name}" + (f"  {event.task}" if event.task else "")
    summary = event_summary(event)
    return one_line(f"{text}: {summary}" if summary else text)


def _as_transition(event: Event) -> Event:
    """Return the transition of a worker that a message reports, or the event itself."""
    body = _decoded(event.body)
    if not isinstance(body, dict):
        return event
    facts = [body.get(key) for key in ("worker", "from", "to", "event")]
    if event.kind != "message" or not all(isinstance(one, str) for one in facts):
        return event
    worker, before, after, name = map(str, facts)
    return event._replace(
        kind="transition", machine="worker", source=worker, name=name, actor=event.source,
        from_state=before, to_state=after,
    )  # fmt: skip


def json_event(event: Event) -> dict[str, Any]:
    """Return an event as JSON data; metadata or payload is decoded if it is JSON."""
    head = {"at": clock.iso_utc(event.ts_ms), "kind": event.kind, "seq": event.seq}
    if event.kind == "log":
        return {"at": head["at"], "kind": "log", "worker": event.source, "line": event.body}
    if event.kind == "transition":
        return head | {
            "machine": event.machine, "entity": event.source, "from": event.from_state,
            "to": event.to_state, "event": event.name, "actor": event.actor,
            "metadata": _decoded(event.body),
        }  # fmt: skip
    kind = COMMIT_TYPE if event.kind == "commit" else event.name
    return head | {
        "from": event.source, "to": event.to, "type": kind, "correlation_id": event.task,
        "payload": _decoded(event.body), "payload_ref": event.body_ref,
    }  # fmt: skip


def _merged(
    transitions: Sequence[StoredTransition], messages: Sequence[StoredEvent], limit: int
) -> tuple[Event, ...]:
    return _in_order(transitions, messages)[-limit:] if limit > 0 else ()


def _in_order(
    transitions: Iterable[StoredTransition], messages: Iterable[StoredEvent]
) -> tuple[Event, ...]:
    """Merge by time; at equal times a transition precedes the messages that it caused."""
    events = [_transition(row) for row in transitions] + [_message(row) for row in messages]
    events.sort(key=lambda event: (event.ts_ms, event.kind != "transition", event.seq))
    return tuple(events)


def _transition(row: StoredTransition) -> Event:
    return Event(
        ts_ms=row.ts_ms, seq=row.seq, kind="transition", source=row.entity_id,
        name=row.event, actor=row.actor, machine=row.machine,
        from_state=row.from_state, to_state=row.to_state, body=row.metadata,
    )  # fmt: skip


def _message(row: StoredEvent) -> Event:
    commit = _commit(row)
    return Event(
        ts_ms=row.ts_ms, seq=row.seq, kind="commit" if commit else "message",
        source=row.from_agent, name=commit or row.type, to=row.to_agent,
        task=row.correlation_id, body=row.payload, body_ref=row.payload_ref,
    )  # fmt: skip


def _commit(row: StoredEvent) -> str | None:
    """Return the commit that the drain published with a message; None for other messages."""
    if row.type != COMMIT_TYPE:
        return None
    body = _decoded(row.payload)
    commit = body.get("commit") if isinstance(body, dict) else None
    return commit if isinstance(commit, str) and is_oid(commit) else None


def event_summary(event: Event) -> str:
    """Return the metadata or payload as one phrase, which is never empty for a message."""
    if event.body_ref:
        return event.body_ref
    body = _decoded(event.body)
    if isinstance(body, dict):
        if event.name == MessageType.REVIEW_RESULT and body.get("verdict") == "conflict":
            return summary_of(event.name, body)
        for key in SUMMARY_FIELDS:
            if isinstance(body.get(key), str) and body[key]:
                return f"{body[key]}{_log_of(body)}"
    if event.kind == "transition" or not event.body or event.body == "{}":
        return ""
    return (_in_words(body) if isinstance(body, dict) else event.body)[:BODY_SHOWN]


def _in_words(body: dict[str, Any]) -> str:
    """Return the fields of a payload as `phase: tests, done: 3`; a nested value is JSON."""
    return ", ".join(
        f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in body.items()
        if value not in (None, "")
    )


def _log_of(body: dict[str, Any]) -> str:
    """Return the log file that a body names, as after a failed verification."""
    return f"  log: {body['log']}" if isinstance(body.get("log"), str) else ""


def _decoded(text: str | None) -> Any:
    """Return the JSON data, or the text itself if it is not JSON."""
    if text is None:
        return None
    from gitworker.bus.following.message_fields import (
        read_json,  # 3 ms, and `status` may have no event to show
    )

    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return text
