"""Change a state: one row in `transitions`, its log lines and its message, in one transaction.

Triggers of the database copy the new state to the entity's row and refuse transitions that no
machine allows. No other code changes a state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.bus.publish import Outgoing, publish
from gitworker.bus.steps.record import record_transition, transition_time
from gitworker.model.task import TaskEvent, TaskStatus
from gitworker.model.worker import WorkerEvent
from gitworker.states.log.log_event import EventType, build_log_event, build_task_event
from gitworker.states.task_machine import task_transition
from gitworker.states.task_view import lifecycle_lines
from gitworker.states.worker_machine import require_transition
from gitworker.store.api import Writer
from gitworker.store.messages.transitions import (
    set_completed,
    set_recoveries,
    set_started,
    set_view,
)
from gitworker.store.tasks import StoredTask, dependencies, require_stored_task, set_task_retry
from gitworker.store.workers import Worker, load_worker

if TYPE_CHECKING:
    from gitworker.model.agent import AgentEvent
    from gitworker.store.scheduling.agents import RegisteredAgent


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
    record_transition(
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


def move_agent(
    writer: Writer, agent: RegisteredAgent, event: AgentEvent, *, actor: str, task_count: int = 0
) -> RegisteredAgent:
    """Fire an event on a registered agent and return its new row. Raises as `move_worker`."""
    from gitworker.model.agent import AgentState  # 3 ms, and the machine: for these agents only
    from gitworker.states.agent_machine import agent_transition

    state = AgentState(agent.state)
    target = agent_transition(state, event)
    now = transition_time(writer)
    facts = {"max_concurrent_tasks": agent.tasks, "task_count": task_count, "actor": actor}
    line = build_log_event(
        EventType.AGENT, agent.id, timestamp=clock.iso_utc(now), from_state=state, to_state=target,
        trigger=event, metadata=facts,
    )  # fmt: skip
    record_transition(
        writer, machine="agent", entity=agent.id, version=agent.version + 1,
        states=(state, event, target), now=now, actor=actor, metadata=facts, lines=[line],
    )  # fmt: skip
    return agent._replace(state=target.value, version=agent.version + 1)


def move_task(
    writer: Writer, task: StoredTask, events: tuple[TaskEvent, ...], *, actor: str
) -> StoredTask:
    """Fire events on a task, in order, and return its new row."""
    for event in events:
        task = _step(writer, task, event, actor)
    return task


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
    record_transition(
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
    if task.workstream_id is not None:
        _follow(writer, task.workstream_id, (task.status, target), actor)
    return require_stored_task(writer, task.id)


def _follow(
    writer: Writer, workstream: str, step: tuple[TaskStatus, TaskStatus], actor: str
) -> None:
    """Let the workstream of a task follow its step."""
    # 4 ms, and most tasks belong to no workstream
    from gitworker.bus.steps.workstream import follow_tasks
    from gitworker.states.workstream_machine import decides

    if decides(*step):
        follow_tasks(writer, workstream, actor=actor)


def _bookkeeping(writer: Writer, task: StoredTask, event: TaskEvent, now: int) -> StoredTask:
    """Update the counters and times that the task model leaves to the code that fires an event."""
    if event is TaskEvent.AGENT_STARTED:
        set_started(writer, task.id, now=now)
    elif event in (TaskEvent.VERIFY_PASSED, TaskEvent.PR_MERGED, TaskEvent.ADMIN_SKIP):
        set_completed(writer, task.id, now=now)
    elif event is TaskEvent.RETRY:
        set_task_retry(writer, task.id, count=task.retry_count + 1, resume_after_ms=None)
    elif event in (TaskEvent.RESUME_TIMER, TaskEvent.ADMIN_RESTART) and task.resume_after_ms:
        set_task_retry(writer, task.id, count=task.retry_count, resume_after_ms=None)
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
