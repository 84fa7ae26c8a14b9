"""task restart, stop, skip, cancel and edit.

If a worker has the task, its own use cases do the work, so that its commits and files are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.bus.transitions import move_task
from gitworker.errors import Conflict, NotFound
from gitworker.lifecycle.fail import stop
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.task import TaskEvent, TaskStatus
from gitworker.progress import Notice
from gitworker.states.task_machine import status_words
from gitworker.store.messages.transitions import set_recoveries
from gitworker.store.records.runs import find_latest_run
from gitworker.store.records.task_needs import open_needs_of
from gitworker.store.records.task_queue import waive_needs
from gitworker.store.records.task_specs import find_task_spec, update_task_spec
from gitworker.store.tasks import assign_task, require_stored_task, set_task_error, set_task_retry
from gitworker.store.workers import Worker, find_worker_of_task
from gitworker.tasks.projects.change_project import require_takes_tasks
from gitworker.tasks.queue.add_task import require_may_change, require_task
from gitworker.tasks.queue.join import join, require_one_target
from gitworker.tasks.queue.promote import promote
from gitworker.tasks.queue.rules_fields import TaskFields, with_fields
from gitworker.workers.cancel import cancel
from gitworker.workers.task_verbs.rules_task_verbs import (
    CANCEL,
    RESTART,
    SKIP,
    STOP,
    edit_refusal,
    frees_worker,
    is_done_already,
    is_in_hand,
    skips_dependencies,
    verb_refusal,
)

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.tasks import StoredTask


class ChangedTask(NamedTuple):
    """A task after a command; `worker` had it, and its work is kept under `rescue` if it was freed.

    `is_ordered`: the worker's agent got the order to stop, and the status changes once it ends.
    """

    task: str
    status: TaskStatus
    worker: str | None = None
    rescue: str | None = None
    is_ordered: bool = False

    @property
    def in_words(self) -> str:
        """Return the task with its status in words: "login is blocked"."""
        return f"{self.task} {status_words(self.status)}"


def restart_task(session: Session, task: str) -> ChangedTask:
    """Put a task back into the queue, READY, with all its retries.

    A worker that has it is freed, with its work under a rescue ref. A task that waits for others
    waits no longer. Raises Refused while the task is in progress.
    """
    stored, _ = _look(session, task, RESTART)
    freed = _free(session, task) if is_in_hand(stored.status) else ChangedTask(task, stored.status)
    with session.store.write() as writer:
        stored = require_stored_task(writer, task)
        if is_in_hand(stored.status):
            raise _changed(task)
        if skips_dependencies(stored.status) and open_needs_of(writer, task):
            waive_needs(writer, task)
        set_task_retry(writer, task, count=0, resume_after_ms=None)
        set_recoveries(writer, task, number=0)
        set_task_error(writer, task, "")
        assign_task(writer, task, agent=None, branch=stored.branch_name)
        if not is_done_already(RESTART, stored.status):
            move_task(writer, require_stored_task(writer, task), (RESTART,), actor=session.actor)
        status = require_stored_task(writer, task).status
    publish_views(session)
    return freed._replace(status=status)


def stop_task(session: Session, task: str, *, reason: str) -> ChangedTask:
    """Stop work on a task: it is BLOCKED, its worker FAILED; branch and worktree stay.

    The caller has ended the agent, if one ran. Raises Refused if no worker has the task.
    """
    stored, worker = _look(session, task, STOP)
    if is_done_already(STOP, stored.status) or worker is None:
        return ChangedTask(task, stored.status)
    stop(session, worker.worker_id, reason=reason)
    return ChangedTask(task, _status(session, task), worker.worker_id)


def skip_task(session: Session, task: str) -> ChangedTask:
    """Record a failed or blocked task as COMPLETED without its work; its dependents may start."""
    stored, worker = _look(session, task, SKIP)
    if not is_done_already(SKIP, stored.status):
        _move(session, stored, SKIP)
    return ChangedTask(task, _status(session, task), worker and worker.worker_id)


def cancel_task(session: Session, task: str) -> ChangedTask:
    """Withdraw a task; a worker that has it is freed, with its work under a rescue ref."""
    stored, worker = _look(session, task, CANCEL)
    if is_done_already(CANCEL, stored.status):
        return ChangedTask(task, stored.status)
    if worker is not None and frees_worker(worker.state):
        return _free(session, task)
    _move(session, stored, CANCEL)
    return ChangedTask(task, _status(session, task))


def edit_task(session: Session, task: str, fields: TaskFields) -> ChangedTask:
    """Change the fields of a task that has not ended; an agent at work has the old text.

    Raises Refused if the worker that has the task would change its own order, and for test commands
    of a worker.
    """
    with session.store.write() as writer:
        stored = require_task(writer, task)
        refusal = edit_refusal(task, stored.status)
        if refusal is not None:
            raise refusal
        spec = find_task_spec(writer, task)
        assert spec is not None, task
        if fields.project_id is not None:
            require_takes_tasks(writer, fields.project_id)
        wanted = with_fields(spec, fields)
        require_may_change(session, writer, spec, wanted)
        update_task_spec(writer, wanted._replace(workstream_id=spec.workstream_id))
        if wanted.workstream_id is not None:
            join(writer, wanted.workstream_id, stored, actor=session.actor)
            require_one_target(writer, task)
    return ChangedTask(task, stored.status, stored.assigned_agent_id)


def require_stoppable(session: Session, task: str) -> Worker | None:
    """Return the worker whose agent is to be stopped; None if the task is stopped already.

    Raises NotFound for an unknown task, Refused if no worker has it.
    """
    stored, worker = _look(session, task, STOP, is_silent=True)
    return None if is_done_already(STOP, stored.status) else worker


def has_open_run(session: Session, worker: Worker) -> bool:
    """Return whether a worker has an agent that a supervisor can stop."""
    with session.store.read() as reader:
        run = find_latest_run(reader, worker.worker_id)
    return run is not None and run.ended_at_ms is None


def json_changed_task(changed: ChangedTask) -> dict[str, Any]:
    """Return the task as JSON data."""
    return {
        "task": changed.task, "status": changed.status.value, "worker": changed.worker,
        "rescue": changed.rescue, "ordered": changed.is_ordered,
    }  # fmt: skip


def _look(
    session: Session, task: str, event: TaskEvent, *, is_silent: bool = False
) -> tuple[StoredTask, Worker | None]:
    """Return the task and its worker; raise if the command is impossible."""
    with session.store.read() as reader:
        stored = require_task(reader, task)
        worker = find_worker_of_task(reader, task)
    if is_done_already(event, stored.status):
        if not is_silent:
            words = status_words(stored.status)
            session.report(Notice(f"task {task} {words} already: nothing changed"))
        return stored, worker
    refusal = verb_refusal(task, event, stored.status)
    if refusal is not None:
        raise refusal
    if worker is None and is_in_hand(stored.status):
        raise NotFound(
            f"no worker has task {task}, which {status_words(stored.status)}", "git worker fsck"
        )
    return stored, worker


def _free(session: Session, task: str) -> ChangedTask:
    with session.store.read() as reader:
        worker = find_worker_of_task(reader, task)
    if worker is None:
        raise _changed(task)
    freed = cancel(session, worker.worker_id, task=task)
    return ChangedTask(task, _status(session, task), worker.worker_id, freed.rescue_ref)


def _changed(task: str) -> Conflict:
    return Conflict(f"task {task} has changed meanwhile", "run the command again")


def _move(session: Session, stored: StoredTask, event: TaskEvent) -> None:
    """Move a task; raise Conflict if it has changed since it was looked at."""
    with session.store.write() as writer:
        current = require_stored_task(writer, stored.id)
        if current.version != stored.version:
            raise _changed(stored.id)
        move_task(writer, current, (event,), actor=session.actor)
        promote(writer, actor=session.actor)
    publish_views(session)


def _status(session: Session, task: str) -> TaskStatus:
    with session.store.read() as reader:
        return require_task(reader, task).status
