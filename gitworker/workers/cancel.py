"""cancel and reset: free a worker; its branch and worktree are removed, rescued and undoable."""

from dataclasses import dataclass

from gitworker.bus.drain import drain
from gitworker.errors import Conflict, GitWorkerError
from gitworker.journal.recover import finish_interrupted, require_ended
from gitworker.journal.undo.undo_removal import require_free_task
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.moves import advance, require_event
from gitworker.lifecycle.rules import has_no_task, is_cancelled
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.worker import WorkerEvent
from gitworker.observe.next_step.trouble import read_trouble
from gitworker.progress import Notice
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.operations import Operation, last_operation_on
from gitworker.store.stacks import workers_on
from gitworker.store.tasks import find_task
from gitworker.store.workers import (
    Worker,
    clear_assignment,
    find_worker,
    find_worker_of_task,
    load_worker,
)
from gitworker.worktrees.removal import EVENTS, finish_removal, plan_removal, refuse_stuck


@dataclass(frozen=True, slots=True)
class FreedWorker:
    """A worker that is IDLE again, its former task, and the rescue ref that keeps its work.

    `stacked` are the workers that are stacked on it; they continue without it. `missing` is the
    path of its worktree if nothing was there: only its commits and, with `staged`, its staged files
    could be kept. `had_work`: the rescue ref keeps more than the commit at which the branch began.
    `undo_refusal` is why `undo` cannot return the task to it now.
    """

    worker: Worker
    task_id: str | None
    rescue_ref: str | None
    stacked: tuple[str, ...] = ()
    missing: str | None = None
    had_work: bool = True
    staged: bool = False
    undo_refusal: str | None = None


def cancel(session: Session, name: str, *, task: str | None = None) -> FreedWorker:
    """Cancel the worker's task and make the worker IDLE; its work is rescued.

    Raises Conflict if it has another task than `task` by now.
    """
    with session.store.read() as reader:
        former = _find_former(reader, name)
    if former is not None:
        session.report(Notice(f"task {name} was cancelled already: nothing changed"))
        return FreedWorker(former, None, None)
    return _free(session, name, "cancel", task=task)


def reset(session: Session, name: str) -> FreedWorker:
    """Free a FAILED worker for a new task; its work is rescued, its task stays as it is."""
    return _free(session, name, "reset")


def recycle(session: Session, name: str) -> Worker:
    """Make a COMPLETED worker IDLE; a worktree that was kept stays in its place."""
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
    if has_no_task(worker.state):
        _report_free(session, worker)
        return worker
    require_event(session, worker, WorkerEvent.RECYCLE)
    later = read_trouble(session, worker)
    with session.store.write() as writer:
        worker = advance(writer, worker, WorkerEvent.RECYCLE, actor=session.actor)
        clear_assignment(writer, worker.worker_id)
        stored = load_worker(writer, worker.worker_id)
    publish_views(session, worker.worker_id)
    if later is not None:
        session.report(Notice(f"{later.words}: {later.command}"))
    return stored


def _find_former(reader: Reader, name: str) -> Worker | None:
    """Return the worker that had a cancelled task, if the name means only that task."""
    task = find_task(reader, name)
    if task is None or not is_cancelled(task.status):
        return None
    if find_worker(reader, name) or find_worker_of_task(reader, name):
        return None
    operation = last_operation_on(reader, "cancel", task=name)
    return find_worker(reader, operation.worker_id) if operation else None


def _report_free(session: Session, worker: Worker) -> None:
    session.report(Notice(f"worker {worker.worker_id} has no task: nothing changed"))


def _free(session: Session, name: str, kind: str, *, task: str | None = None) -> FreedWorker:
    with hold(session.landing_lock, name="landing"):
        finish_interrupted(session)
        drain(session)
        with session.store.read() as reader:
            worker = require_worker(reader, name, session)
            stacked = workers_on(reader, worker.worker_id, worker.task_id)
        require_ended(session, worker.worker_id)
        if task not in (None, worker.task_id):
            words = f"worker {worker.worker_id} does not have task {task} any more"
            raise Conflict(words, "run the command again")
        if has_no_task(worker.state):
            _report_free(session, worker)
            return FreedWorker(worker, None, None)
        require_event(session, worker, EVENTS[kind])
        refuse_stuck(session, worker)
        operation = plan_removal(session, worker, kind)
        removed = finish_removal(session, operation)
        refusal = _find_undo_refusal(session, operation)
    missing = removed.data.lost and removed.data.lost.worktree
    data = removed.data
    return FreedWorker(
        removed.worker, worker.task_id, data.rescue, stacked, missing,
        had_work=data.rescued != data.base,
        staged=missing is not None and data.rescued != data.tip,
        undo_refusal=refusal,
    )  # fmt: skip


def _find_undo_refusal(session: Session, done: Operation) -> str | None:
    """Return why an undo could not return the task now, or None; without git."""
    try:
        require_free_task(session, done)
    except GitWorkerError as error:
        return error.message
    return None
