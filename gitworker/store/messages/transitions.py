"""Transitions as stored, and the columns of a task that change with its transitions."""

import json
from typing import Any, NamedTuple

from gitworker.model.worker import WorkerEvent
from gitworker.states.task_view import LifecyclePosition
from gitworker.store.api import Reader, Writer
from gitworker.store.workers import Worker


class NewTransition(NamedTuple):
    """A transition to insert; `metadata` and `lines` are JSON texts."""

    machine: str
    entity: str
    version: int
    from_state: str
    event: str
    to_state: str
    ts_ms: int
    actor: str
    metadata: str
    lines: str


def insert_transition(writer: Writer, transition: NewTransition) -> None:
    """Insert a transition; triggers check it and change the state of the entity."""
    writer.run("transitions.insert", **transition._asdict())


def last_transition_ms(reader: Reader) -> int:
    """Return the time of the newest transition; 0 without one."""
    row = reader.row("transitions.last_ts")
    return int(row["ts_ms"]) if row else 0


def transition_metadata(reader: Reader, worker: str, version: int) -> dict[str, Any]:
    """Return the metadata of the transition that led a worker to this version of its row."""
    row = reader.row("transitions.of_worker", worker=worker, version=version)
    found: dict[str, Any] = json.loads(row["metadata"]) if row else {}
    return found


def why_withdrawn(reader: Reader, worker: Worker) -> str:
    """Return why the approval of a worker in review was withdrawn; empty if it was not."""
    row = reader.row("transitions.of_worker", worker=worker.worker_id, version=worker.version)
    if row is None or row["event"] != WorkerEvent.APPROVAL_WITHDRAWN:
        return ""
    return str(json.loads(row["metadata"]).get("reason", ""))


def came_by_undo(reader: Reader, worker: str, version: int) -> bool:
    """Return whether an undo gave a worker the state that it has in this version of its row."""
    return transition_metadata(reader, worker, version).get("reason") == "undo"


def set_view(writer: Writer, task: str, view: LifecyclePosition) -> None:
    """Record the lifecycle view of a task."""
    writer.run("tasks.set_view", task=task, incarnation=view.incarnation, view=view.state.value)


def set_started(writer: Writer, task: str, *, now: int) -> None:
    """Record when a task was started."""
    writer.run("tasks.set_started", task=task, now=now)


def set_completed(writer: Writer, task: str, *, now: int) -> None:
    """Record when a task was completed."""
    writer.run("tasks.set_completed", task=task, now=now)


def set_recoveries(writer: Writer, task: str, *, number: int) -> None:
    """Record the number of recoveries."""
    writer.run("tasks.set_recoveries", task=task, count=number)
