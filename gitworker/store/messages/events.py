"""Transitions and messages as events of the log, in the order of their positions."""

from typing import NamedTuple

from gitworker.store.api import Reader


class StoredTransition(NamedTuple):
    """One transition of a worker, a task or another entity."""

    seq: int
    ts_ms: int
    machine: str
    entity_id: str
    from_state: str
    event: str
    to_state: str
    actor: str
    metadata: str


class StoredEvent(NamedTuple):
    """One message; `repeats` is True if it only repeats a worker's transition."""

    seq: int
    ts_ms: int
    from_agent: str
    to_agent: str | None
    type: str
    correlation_id: str | None
    payload: str | None
    payload_ref: str | None
    repeats: bool = False


def newest_transitions(
    reader: Reader, limit: int, *, with_tasks: bool = True
) -> list[StoredTransition]:
    """Return the newest transitions, newest first."""
    query = "transitions.newest" if with_tasks else "observe.seat_transitions"
    return [StoredTransition(**row) for row in reader.rows(query, limit=limit)]


def worker_transitions(
    reader: Reader, *, worker: str, task: str | None, limit: int
) -> list[StoredTransition]:
    """Return the newest transitions of a worker and of its task, newest first."""
    rows = reader.rows("observe.transitions_of_worker", worker=worker, task=task, limit=limit)
    return [StoredTransition(**row) for row in rows]


def transitions_after(reader: Reader, after: int, *, limit: int) -> list[StoredTransition]:
    """Return the transitions after a position, in order."""
    rows = reader.rows("observe.transitions_after", after=after, limit=limit)
    return [StoredTransition(**row) for row in rows]


def newest_messages(reader: Reader, limit: int, *, hidden: str | None = None) -> list[StoredEvent]:
    """Return the newest messages that do not repeat a transition, newest first.

    Messages of the type `hidden` are left out.
    """
    rows = reader.rows("observe.messages", limit=limit, hidden=hidden)
    return [StoredEvent(**row) for row in rows]


def worker_messages(
    reader: Reader, *, worker: str, task: str | None, limit: int, hidden: str | None = None
) -> list[StoredEvent]:
    """Return the same, only from and to a worker and about its task."""
    rows = reader.rows(
        "observe.messages_of_worker", worker=worker, task=task, limit=limit, hidden=hidden
    )
    return [StoredEvent(**row) for row in rows]


def events_after(reader: Reader, after: int, *, limit: int) -> list[StoredEvent]:
    """Return all messages after a position, in order; `repeats` marks some of them."""
    rows = reader.rows("observe.messages_after", after=after, limit=limit)
    return [StoredEvent(**row) for row in rows]


def newest_positions(reader: Reader) -> tuple[int, int]:
    """Return the positions of the newest transition and of the newest message."""
    row = reader.row("observe.positions")
    return (row["transition"], row["message"]) if row else (0, 0)
