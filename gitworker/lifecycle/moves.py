"""Moving a worker and its task together: one transaction, every step a legal pair."""

from collections.abc import Mapping
from typing import Any

from gitworker.bus.transitions import move_task, move_worker
from gitworker.lifecycle.rules import waits_for_retry
from gitworker.model.worker import WorkerEvent
from gitworker.states.task_moves import task_events
from gitworker.store.api import Writer
from gitworker.store.claims import release_claim
from gitworker.store.tasks import StoredTask, find_task, require_stored_task
from gitworker.store.workers import Worker


def advance(
    writer: Writer,
    worker: Worker,
    event: WorkerEvent,
    *,
    actor: str,
    happening: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Worker:
    """Fire `event` on the worker and what follows from it on its task (DESIGN section 4).

    `happening` is what the task's rules call it, where that is not the event's own name. Raises
    InvalidTransition where either machine refuses; then nothing of the transaction may stay.
    """
    moved = move_worker(writer, worker, event, actor=actor, metadata=metadata)
    advance_task(writer, worker, happening or event.value, actor=actor)
    return moved


def advance_task(
    writer: Writer, worker: Worker, happening: str, *, actor: str
) -> StoredTask | None:
    """Fire the event of the task alone; a task that another worker holds now is left alone."""
    if worker.task_id is None:
        return None
    task = find_task(writer, worker.task_id)
    if task is None or task.assigned_agent_id not in (None, worker.worker_id):
        return task
    left = task.recovery_count < task.max_retries if happening == "recovery" else task.retries_left
    events = task_events(
        happening,
        status=task.status,
        requires_approval=task.requires_approval,
        retries_left=left,
    )
    move_task(writer, task, events, actor=actor)
    return require_stored_task(writer, task.id)


def release_task(writer: Writer, worker: Worker) -> None:
    """Give up the worker's hold on its task: the assignment and the claim."""
    if worker.task_id is None:
        return
    task = find_task(writer, worker.task_id)
    if task is not None and task.assigned_agent_id == worker.worker_id:
        writer.run("tasks.set_assigned", task=task.id, agent=None, branch=task.branch_name)
    release_claim(writer, worker.task_id, worker.worker_id)


def schedule_retry(writer: Writer, worker: Worker, *, now: int, delay_s: int) -> None:
    """Set when a failed task may be tried again: exponential back-off from `delay_s`."""
    task = None if worker.task_id is None else find_task(writer, worker.task_id)
    if task is None or not waits_for_retry(task.status):
        return
    wait_ms = delay_s * 1000 * 2 ** min(task.retry_count, 10)
    writer.run(
        "tasks.set_retry", task=task.id, retry_count=task.retry_count, resume_after_ms=now + wait_ms
    )
