"""Change a state: one row in `transitions`, its log lines and its message, in one transaction.

Triggers of the database copy the new state to the entity's row and refuse transitions that no
machine allows. No other code changes a state.
"""

import json
from collections.abc import Mapping
from typing import Any

from gitworker import clock
from gitworker.bus.publish import Outgoing, json_text, publish
from gitworker.model.task import TaskEvent
from gitworker.model.worker import WorkerEvent
from gitworker.states.log.log_event import EventType, build_log_event, build_task_event
from gitworker.states.task_machine import task_transition
from gitworker.states.task_view import lifecycle_lines
from gitworker.states.worker_machine import require_transition
from gitworker.store.api import Writer
from gitworker.store.messages.transitions import (
    NewTransition,
    insert_transition,
    last_transition_ms,
    set_completed,
    set_recoveries,
    set_started,
    set_view,
)
from gitworker.store.tasks import StoredTask, dependencies, require_stored_task, set_task_retry
from gitworker.store.workers import Worker, load_worker


def move_worker(
    writer: Writer,
    worker: Worker,
    event: WorkerEvent,
    *,
    actor: str,
    metadata: Mapping[str, Any] | None = None,
) -> Worker:
    """Fire an event on a worker and return its new row.

    Raises InvalidTransition if the machine refuses, Conflict if the row has changed since.
    """
    target = require_transition(worker.worker_id, worker.state, event, stale_from=worker.stale_from)
    now = transition_time(writer)
    facts = {"task_id": worker.task_id, "actor": actor, **(metadata or {})}
    line = build_log_event(
        EventType.SEAT,
        worker.worker_id,
        timestamp=clock.iso_utc(now),
        from_state=worker.state,
        to_state=target,
        trigger=event,
        metadata=facts,
    )
    _record(
        writer,
        machine="worker",
        entity=worker.worker_id,
        version=worker.version + 1,
        states=(worker.state, event, target),
        now=now,
        actor=actor,
        metadata=facts,
        lines=[line],
    )
    publish(
        writer,
        Outgoing(
            "state_change",
            sender=actor,
            correlation_id=worker.task_id,
            payload={
                "worker": worker.worker_id, "from": worker.state, "to": target, "event": event,
                **(metadata or {}),
            },
        ),
        now=now,
    )  # fmt: skip
    return load_worker(writer, worker.worker_id)


def move_task(
    writer: Writer, task: StoredTask, events: tuple[TaskEvent, ...], *, actor: str
) -> StoredTask:
    """Fire events on a task, in order, and return its new row."""
    for event in events:
        task = _step(writer, task, event, actor)
    return task


def transition_time(writer: Writer) -> int:
    """Return now, but no time before the newest transition, so that the log stays ordered."""
    return max(clock.now_ms(), last_transition_ms(writer))


def _step(writer: Writer, task: StoredTask, event: TaskEvent, actor: str) -> StoredTask:
    target = task_transition(task.status, event)
    now = transition_time(writer)
    task = _bookkeeping(writer, task, event, now)
    lines, view = lifecycle_lines(
        task.view,
        from_status=task.status,
        event=event,
        to_status=target,
        retries_left=task.retries_left,
    )
    facts = _facts(writer, task, event, target)
    stamp = clock.iso_utc(now)
    events = [build_task_event(line, task.id, timestamp=stamp, facts=facts) for line in lines]
    _record(
        writer,
        machine="task",
        entity=task.id,
        version=task.version + 1,
        states=(task.status, event, target),
        now=now,
        actor=actor,
        metadata={},
        lines=events,
    )
    if view != task.view:
        set_view(writer, task.id, view)
    return require_stored_task(writer, task.id)


def _bookkeeping(writer: Writer, task: StoredTask, event: TaskEvent, now: int) -> StoredTask:
    """Update the counters and times that the task model leaves to the code that fires an event."""
    if event is TaskEvent.AGENT_STARTED:
        set_started(writer, task.id, now=now)
    elif event in (TaskEvent.VERIFY_PASSED, TaskEvent.PR_MERGED, TaskEvent.ADMIN_SKIP):
        set_completed(writer, task.id, now=now)
    elif event is TaskEvent.RETRY:
        set_task_retry(writer, task.id, count=task.retry_count + 1, resume_after_ms=None)
    elif event is TaskEvent.AGENT_COMPLETED:
        set_recoveries(writer, task.id, number=0)
    elif event is TaskEvent.RECOVERY:
        set_recoveries(writer, task.id, number=task.recovery_count + 1)
    else:
        return task
    stored = require_stored_task(writer, task.id)
    return stored._replace(status=task.status, version=task.version)


def _facts(writer: Writer, task: StoredTask, event: TaskEvent, target: str) -> dict[str, object]:
    def stamp(ts_ms: int | None) -> str | None:
        return None if ts_ms is None else clock.iso_utc(ts_ms)

    duration = None
    if task.completed_at_ms is not None and task.started_at_ms is not None:
        duration = (task.completed_at_ms - task.started_at_ms) / 1000
    return {
        "status": str(target),
        "event": str(event),
        "retry_count": task.retry_count,
        "max_retries": task.max_retries,
        "worker_id": task.assigned_agent_id,
        "dependencies": dependencies(writer, task.id),
        "workstream_id": task.workstream_id,
        "critical": task.critical,
        "created_at": stamp(task.created_at_ms),
        "started_at": stamp(task.started_at_ms),
        "completed_at": stamp(task.completed_at_ms),
        "duration_seconds": duration,
    }


def _record(
    writer: Writer,
    *,
    machine: str,
    entity: str,
    version: int,
    states: tuple[str, str, str],
    now: int,
    actor: str,
    metadata: Mapping[str, object],
    lines: list[dict[str, object]],
) -> None:
    from_state, event, to_state = (str(part) for part in states)
    insert_transition(
        writer,
        NewTransition(
            machine, entity, version, from_state, event, to_state, now, actor,
            metadata=_json(metadata), lines=_json(lines),
        ),
    )  # fmt: skip


def _json(value: object) -> str:
    """Return JSON in ASCII; lone surrogates become `?` (see `json_text`)."""
    text = json.dumps(value)
    return json.dumps(json.loads(json_text(value))) if "\\ud" in text else text
