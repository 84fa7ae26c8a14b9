"""Fail, stop, pause or recover one worker."""

from gitworker import clock
from gitworker.bus.drain import drain
from gitworker.bus.publish import Outgoing, publish
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.lost_task import refuse_lost_task
from gitworker.lifecycle.moves import (
    advance,
    advance_task,
    find_waiting,
    release_task,
    schedule_retry,
)
from gitworker.lifecycle.rules import is_stale
from gitworker.lifecycle.rules_take_up import ON_PURPOSE, has_failed
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.worker import WorkerEvent, WorkerState
from gitworker.progress import Notice
from gitworker.session import Session
from gitworker.states.task_moves import WorkerTaskEvent
from gitworker.states.worker_machine import state_words
from gitworker.store.heartbeats import renew_heartbeat
from gitworker.store.records.runs import find_latest_run
from gitworker.store.tasks import set_task_error, set_task_retry
from gitworker.store.workers import (
    Worker,
    load_worker,
    set_stale_from,
    set_worker_error,
)

FAILING = {
    WorkerState.ASSIGNED: WorkerEvent.SETUP_FAILED,
    WorkerState.IN_REVIEW: WorkerEvent.STOP,
    WorkerState.STALE: WorkerEvent.STOP,
}


def fail(
    session: Session,
    name: str | None,
    *,
    reason: str,
    on_purpose: bool = False,
    agent_ending: str | None = None,
    seen: Worker | None = None,
) -> Worker:
    """Record that the worker failed, with the reason; branch and worktree stay.

    After a failure on purpose a later heartbeat or commit does not resume it. `agent_ending` is
    ERROR if its registered agent cannot do other tasks either. With `seen`, nothing happens if the
    worker has changed since, or if an agent has begun.
    """
    drain(session)
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
        refuse_lost_task(reader, session, worker)
        run = None if seen is None else find_latest_run(reader, worker.worker_id)
    if seen is not None and worker.version != seen.version:
        return worker
    if run is not None and run.ended_at_ms is None:
        return worker
    if has_failed(worker.state):
        session.report(Notice(f"worker {worker.worker_id} has failed already: nothing changed"))
        return worker
    event = FAILING.get(worker.state, WorkerEvent.FAIL)
    return _end(
        session, worker, event, reason=reason, on_purpose=on_purpose, agent_ending=agent_ending
    )


def stop(session: Session, name: str, *, reason: str, is_late: bool = False) -> Worker:
    """Record that the worker's agent was stopped by a command or by its time limit (`is_late`).

    The task is BLOCKED: it is not tried again until it is assigned. Branch and worktree stay.
    Raises InvalidTransition if the worker is not at work.
    """
    drain(session)
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
    task_event = WorkerTaskEvent.TIMEOUT if is_late else WorkerTaskEvent.STOP
    return _end(
        session, worker, WorkerEvent.STOP, reason=reason, task_event=task_event, on_purpose=True
    )


def pause(session: Session, name: str, *, until_ms: int | None = None) -> Worker:
    """Record that the worker's task waits for the end of a limit of its model's vendor.

    The worker stays WORKING, and no heartbeat is expected until its next start. No attempt is
    counted.
    """
    drain(session)
    with session.store.write() as writer:
        worker = load_worker(writer, require_worker(writer, name, session).worker_id)
        task = advance_task(writer, worker, WorkerTaskEvent.TOKENS_EXHAUSTED, actor=session.actor)
        if task is not None and until_ms is not None:
            set_task_retry(writer, task.id, count=task.retry_count, resume_after_ms=until_ms)
    publish_views(session, worker.worker_id)
    return worker


def _end(
    session: Session,
    worker: Worker,
    event: WorkerEvent,
    *,
    reason: str,
    task_event: str | None = None,
    on_purpose: bool,
    agent_ending: str | None = None,
) -> Worker:
    """End a worker's work: change worker and task, and publish `task_failed` with the reason."""
    now = clock.now_ms()
    with session.store.write() as writer:
        worker = advance(
            writer, worker, event, actor=session.actor, task_event=task_event,
            metadata={"reason": reason, ON_PURPOSE: on_purpose}, agent_ending=agent_ending,
        )  # fmt: skip
        set_worker_error(writer, worker.worker_id, reason)
        if worker.task_id:
            set_task_error(writer, worker.task_id, reason)
        schedule_retry(writer, worker, now=now, delay_s=session.settings.task_retry_delay_s)
        release_task(writer, worker)
        publish(
            writer,
            Outgoing(
                "task_failed",
                sender=worker.worker_id,
                correlation_id=worker.task_id,
                payload={"reason": reason, "branch": worker.branch},
            ),
            now=now,
        )
        found = load_worker(writer, worker.worker_id)
    publish_views(session, worker.worker_id)
    return found


def recover(session: Session, name: str) -> Worker:
    """Return a STALE worker to the state that it had before: at work, or in review.

    Any other worker stays as it is; a FAILED one is refused, since `resume` takes its task back.
    """
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
        waiting = find_waiting(session, reader, worker)
    if not is_stale(worker.state) and not has_failed(worker.state):
        words = f"{waiting.words if waiting else state_words(worker.state)}: nothing to recover"
        words += f"; to continue it: {waiting.command}" if waiting else ""
        session.report(Notice(f"worker {worker.worker_id} {words}"))
        return worker
    in_review = worker.stale_from is WorkerState.IN_REVIEW
    event = WorkerEvent.RESUME_REVIEW if in_review else WorkerEvent.RECOVER
    with session.store.write() as writer:
        worker = advance(writer, worker, event, actor=session.actor)
        set_stale_from(writer, worker.worker_id, None)
        renew_heartbeat(writer, worker.worker_id, task=worker.task_id)
        found = load_worker(writer, worker.worker_id)
    publish_views(session, worker.worker_id)
    return found
