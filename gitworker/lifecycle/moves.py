"""Move a worker and its task together: in one transaction, by legal steps of both machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.bus.transitions import move_task, move_worker
from gitworker.lifecycle.registered.follow_agent import follow_worker
from gitworker.lifecycle.rules import is_paused, is_stale, retry_wait_ms, waits_for_retry
from gitworker.lifecycle.rules_take_up import (
    event_to_work,
    is_at_work,
    resume_refusal,
    resumes,
)
from gitworker.model.worker import WorkerEvent
from gitworker.states.engine import InvalidTransition
from gitworker.states.task_machine import status_words
from gitworker.states.task_moves import WorkerTaskEvent, task_events
from gitworker.states.worker_machine import (
    FREEING,
    REFUSALS,
    WAITS_FOR_AUTHOR,
    require_transition,
)
from gitworker.store.api import Reader, Writer
from gitworker.store.claims import release_claim
from gitworker.store.heartbeats import renew_heartbeat
from gitworker.store.rules_leases import PROTOCOL_LEASE_MS
from gitworker.store.tasks import (
    StoredTask,
    assign_task,
    find_task,
    set_task_retry,
)
from gitworker.store.workers import (
    Worker,
    load_worker,
    set_author_back,
    set_stale_from,
    set_worker_error,
)

if TYPE_CHECKING:
    from gitworker.session import Session

RECOVERIES = frozenset({WorkerTaskEvent.RECOVERY, WorkerTaskEvent.EXPIRE})  # counted in a row


def advance(
    writer: Writer,
    worker: Worker,
    event: WorkerEvent,
    *,
    actor: str,
    task_event: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    agent_ending: str | None = None,
) -> Worker:
    """Fire `event` on the worker, and on its task the events that `states/task_moves` derives.

    `task_event` is the key of the task's rules if it differs from the event's name, `agent_ending`
    the state of its registered agent if that cannot continue. Raises
    InvalidTransition if either machine refuses; the caller must then roll the transaction back.
    """
    moved = move_worker(writer, worker, event, actor=actor, metadata=metadata)
    _advance_task(writer, worker, task_event or event.value, actor=actor)
    ending = agent_ending or _ending(worker, event, task_event)
    follow_worker(writer, worker.worker_id, actor=actor, ending=ending)
    return moved


def advance_task(
    writer: Writer, worker: Worker, task_event: str, *, actor: str
) -> StoredTask | None:
    """Fire the event on the task alone, unless another worker holds the task now."""
    task = _advance_task(writer, worker, task_event, actor=actor)
    follow_worker(writer, worker.worker_id, actor=actor)
    return task


def _advance_task(
    writer: Writer, worker: Worker, task_event: str, *, actor: str
) -> StoredTask | None:
    if worker.task_id is None:
        return None
    task = find_task(writer, worker.task_id)
    if task is None or task.assigned_agent_id not in (None, worker.worker_id):
        return task
    recovers = task_event in RECOVERIES
    left = task.recovery_count < task.max_retries if recovers else task.retries_left
    try:
        events = task_events(
            task_event,
            status=task.status,
            requires_approval=task.requires_approval,
            retries_left=left,
        )
    except InvalidTransition as error:
        raise InvalidTransition(
            error.state, error.event, f"git worker show {worker.worker_id}",
            message=f"task {task.id} {status_words(task.status)} now, so worker"
            f" {worker.worker_id} cannot change it",
        ) from error  # fmt: skip
    return move_task(writer, task, events, actor=actor)


def _ending(worker: Worker, event: WorkerEvent, task_event: str | None) -> str | None:
    """Return the state of an agent that could not start, or is alive but silent; else None."""
    if event is WorkerEvent.SETUP_FAILED:
        return "ERROR"
    is_lost = is_stale(worker.state) and task_event == WorkerTaskEvent.TIMEOUT
    return "SHUTDOWN" if is_lost else None


def bring_to_work(
    writer: Writer,
    worker: Worker,
    *,
    actor: str,
    lease_ms: int = PROTOCOL_LEASE_MS,
    metadata: Mapping[str, Any] | None = None,
) -> Worker:
    """Bring a worker to WORKING in the caller's transaction; return its row.

    A worker in review, with an approval or without a task is returned as it is. A paused task of a
    worker at work continues.
    """
    event = event_to_work(worker.state, stale_from=worker.stale_from)
    if event is not None:
        if resumes(event):
            _take_task_back(writer, worker, lease_ms)
            set_worker_error(writer, worker.worker_id, None)
        advance(writer, worker, event, actor=actor, metadata=metadata)
        set_stale_from(writer, worker.worker_id, None)
        renew_heartbeat(writer, worker.worker_id, task=worker.task_id)
    if worker.waits_for_author:
        set_author_back(writer, worker.worker_id)
        renew_heartbeat(writer, worker.worker_id, task=worker.task_id)
    found = load_worker(writer, worker.worker_id)
    if is_at_work(found.state) and has_paused_task(writer, found):
        advance_task(writer, found, WorkerTaskEvent.RESUME, actor=actor)
    return found


def has_paused_task(reader: Reader, worker: Worker) -> bool:
    """Return whether a worker's task waits for the end of a limit."""
    task = None if worker.task_id is None else find_task(reader, worker.task_id)
    return task is not None and is_paused(task.status)


def release_task(writer: Writer, worker: Worker) -> None:
    """End the worker's assignment and its claim on the task."""
    if worker.task_id is None:
        return
    task = find_task(writer, worker.task_id)
    if task is not None and task.assigned_agent_id == worker.worker_id:
        assign_task(writer, task.id, agent=None, branch=task.branch_name)
    release_claim(writer, worker.task_id, worker.worker_id)


def schedule_retry(writer: Writer, worker: Worker, *, now: int, delay_s: int) -> None:
    """Set the time of a failed task's next attempt, by its back-off from `delay_s`."""
    task = None if worker.task_id is None else find_task(writer, worker.task_id)
    if task is None or not waits_for_retry(task.status):
        return
    wait_ms = retry_wait_ms(task.id, delay_s=delay_s, count=task.retry_count)
    set_task_retry(writer, task.id, count=task.retry_count, resume_after_ms=now + wait_ms)


def require_resumable(reader: Reader, worker: Worker) -> None:
    """Raise Refused if a failed worker cannot have its task again, as another one has it now."""
    from gitworker.claims.leases import require_task_free  # 5 ms, only to resume

    if not resumes(event_to_work(worker.state, stale_from=worker.stale_from)):
        return
    task = find_task(reader, worker.task)
    if task is None:
        return
    refusal = resume_refusal(worker.worker_id, task.id, task.status, holder=task.assigned_agent_id)
    if refusal is not None:
        raise refusal
    require_task_free(reader, task.id, worker.worker_id)


def _take_task_back(writer: Writer, worker: Worker, lease_ms: int) -> None:
    """Give a failed worker its task and claim again; raise if another worker has them now."""
    from gitworker.claims.leases import take_claim  # 5 ms, only to resume
    from gitworker.store.rules_leases import LeaseLength

    require_resumable(writer, worker)
    task = find_task(writer, worker.task)
    if task is None:
        return
    assign_task(writer, task.id, agent=worker.worker_id, branch=worker.branch)
    take_claim(writer, task.id, worker.worker_id, length=LeaseLength(lease_ms))


def require_event(session: Session, worker: Worker, event: WorkerEvent) -> None:
    """Raise InvalidTransition if a worker's state refuses an event.

    While a supervised agent works, the hint waits for it, since its work may be half done; not if
    the event would free the worker. For work that was sent back the refusal gives the reason, and
    the hint continues it.
    """
    try:
        require_transition(worker.worker_id, worker.state, event, stale_from=worker.stale_from)
    except InvalidTransition as refusal:
        command = None if event in FREEING else wait_for_agent(session, worker)
        with session.store.read() as reader:
            waiting = None if command else find_waiting(session, reader, worker)
        if waiting is not None:
            raise _waiting_refusal(worker, event, waiting) from refusal
        refusal.hint = command or refusal.hint
        raise


class Waiting(NamedTuple):
    """A worker that waits for its author: the words with the reason, and the next command."""

    words: str
    command: str


def find_waiting(session: Session, reader: Reader, worker: Worker) -> Waiting | None:
    """Return why a worker waits for its author; None if it does not, or if its process runs."""
    if not worker.waits_for_author:
        return None
    from gitworker.liveness.readings import works_elsewhere  # 10 ms, only to refuse
    from gitworker.observe.next_step.next_command import read_next_command
    from gitworker.observe.workers.returned import returned_text, returned_work

    if works_elsewhere(worker):
        return None
    returned = returned_work(worker)
    reason = f" ({returned_text(returned)})" if returned else ""
    command = read_next_command(session, reader, worker.worker_id, session.actor)
    return Waiting(WAITS_FOR_AUTHOR + reason, command)


def _waiting_refusal(worker: Worker, event: WorkerEvent, waiting: Waiting) -> InvalidTransition:
    command = waiting.command
    if event in FREEING:
        command = f"{command.partition('   # ')[0]}   # to free it: git worker cancel"
        command += f" {worker.worker_id}"
    return InvalidTransition(
        worker.state,
        event,
        command,
        message=f"worker {worker.worker_id} {waiting.words}, so {REFUSALS[event]}",
    )


def wait_for_agent(session: Session, worker: Worker) -> str | None:
    """Return the command that waits for the worker's agent; None if no supervised agent works.

    None also for the worker itself: the agent knows whether its work is complete.
    """
    if not is_at_work(worker.state) or session.actor == worker.worker_id:
        return None
    from gitworker.liveness.supervised_agent import living_agent  # 10 ms, only after a refusal
    from gitworker.store.records.runs import find_latest_run

    with session.store.read() as reader:
        run = find_latest_run(reader, worker.worker_id)
        if run is None or run.task_id != worker.task_id:
            return None
        pid = living_agent(reader, session.paths, run)
    if pid is None:
        return None
    return f"git worker wait {worker.worker_id}   # its agent is at work"
