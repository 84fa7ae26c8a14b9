"""Apply events that are due: stale, recovered and expired workers, and retries."""

from gitworker.bus.transitions import move_task
from gitworker.errors import Conflict
from gitworker.lifecycle.moves import advance, release_task
from gitworker.lifecycle.rules import is_stale, needs_no_heartbeat, waits_for_retry
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.task import TaskEvent
from gitworker.model.worker import WorkerEvent
from gitworker.session import Session
from gitworker.states.engine import InvalidTransition
from gitworker.states.task_moves import WorkerTaskEvent
from gitworker.store.api import Writer
from gitworker.store.records.run_results import find_run_result
from gitworker.store.records.runs import find_latest_run, is_ordered_to_end
from gitworker.store.tasks import find_task, require_stored_task
from gitworker.store.workers import (
    Worker,
    find_worker,
    find_worker_of_task,
    load_worker,
    set_stale_from,
    set_worker_error,
)

# A worker that lives but is silent is stopped; its task is BLOCKED until it is assigned again.
TASK_EVENTS = {WorkerEvent.STOP: WorkerTaskEvent.TIMEOUT}
ENDS = {
    WorkerEvent.EXPIRE: "no sign of life for too long",
    WorkerEvent.STOP: "its process is alive but sent no heartbeat for too long",
}


def apply_due(
    session: Session, due: list[tuple[Worker, WorkerEvent]], retries: list[str]
) -> list[str]:
    """Fire the events that are due and the retries; return the workers that changed.

    A worker that another command changed meanwhile is left for the next check.
    """
    changed: list[str] = [
        worker.worker_id for worker, event in due if _apply(session, worker, event)
    ]
    retried = [worker for task in retries for worker in _retry(session, task)]
    publish_views(session, *changed, *retried)  # a state file shows the number of the attempt
    return changed


def expire_lost(session: Session, seen: Worker, *, reason: str) -> bool:
    """End the work of a worker whose agent and supervisor were killed; its task is READY again.

    Waits for no timeout: the caller knows that both have ended. Branch and worktree stay. Returns
    False if another command has changed the worker meanwhile, if its supervisor has recorded an
    outcome before it ended, or if the agent was ordered to end. Raises InvalidTransition if its
    task does not allow it.
    """
    try:
        with session.store.write() as writer:
            worker = find_worker(writer, seen.worker_id)
            if worker is None or worker.version != seen.version:
                return False
            result = find_run_result(writer, worker.worker_id, worker.task_id)
            run = find_latest_run(writer, worker.worker_id)
            has_ended = result is not None and result.outcome is not None
            if has_ended or (run is not None and is_ordered_to_end(writer, run)):
                return False
            if not is_stale(worker.state):
                set_stale_from(writer, worker.worker_id, worker.state)
                _move(writer, worker, WorkerEvent.HEARTBEAT_TIMEOUT)
                worker = load_worker(writer, worker.worker_id)
            _move(writer, worker, WorkerEvent.EXPIRE)
            set_worker_error(writer, worker.worker_id, reason)
    except Conflict:
        return False
    publish_views(session, seen.worker_id)
    return True


def _apply(session: Session, seen: Worker, event: WorkerEvent) -> bool:
    try:
        with session.store.write() as writer:
            worker = find_worker(writer, seen.worker_id)
            if worker is None or worker.version != seen.version or _waits(writer, worker, event):
                return False
            if event in (WorkerEvent.HEARTBEAT_TIMEOUT, WorkerEvent.REVIEW_TIMEOUT):
                set_stale_from(writer, worker.worker_id, worker.state)
            _move(writer, worker, event)
    except (Conflict, InvalidTransition):
        # Another command changed the worker or its task meanwhile. The worker stays as it is until
        # the next check, and the command that ran this check continues.
        return False
    return True


def _waits(writer: Writer, worker: Worker, event: WorkerEvent) -> bool:
    """Return whether no heartbeat is expected: the task is paused or waits for an answer."""
    if event is not WorkerEvent.HEARTBEAT_TIMEOUT or worker.task_id is None:
        return False
    task = find_task(writer, worker.task_id)
    return task is not None and needs_no_heartbeat(task.status)


def _move(writer: Writer, worker: Worker, event: WorkerEvent) -> None:
    task_event = TASK_EVENTS.get(event)
    advance(
        writer, worker, event, actor="hq", task_event=task_event, metadata={"reason": "timeout"}
    )
    if event is WorkerEvent.RECOVER:
        set_stale_from(writer, worker.worker_id, None)
    if event in ENDS:
        set_worker_error(writer, worker.worker_id, ENDS[event])
        release_task(writer, worker)


def _retry(session: Session, task_id: str) -> list[str]:
    """Start the next attempt of a task; return the worker that failed it, if it still has it."""
    with session.store.write() as writer:
        task = require_stored_task(writer, task_id)
        if waits_for_retry(task.status) and task.retries_left:
            move_task(writer, task, (TaskEvent.RETRY,), actor="hq")
        worker = find_worker_of_task(writer, task_id)
    return [] if worker is None else [worker.worker_id]
