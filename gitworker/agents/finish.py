"""The end of an agent: submit the work, fail the task, or leave the worker to a person; publish."""

from __future__ import annotations

from gitworker import clock
from gitworker.agents.launch import AgentRun
from gitworker.agents.rules import clipped, is_stale, may_end, reason_of, shell_status
from gitworker.errors import GitWorkerError, Unavailable
from gitworker.lifecycle.fail import fail, recover, stop
from gitworker.lifecycle.rules import is_unanswered, needs_no_heartbeat
from gitworker.lifecycle.runs import record_end
from gitworker.lifecycle.state_files import publish_views
from gitworker.liveness.origin import this_origin
from gitworker.liveness.processes import find_calling_agent
from gitworker.liveness.start_daemon import ensure_heartbeat_daemon
from gitworker.repo.plumbing.refs import find_tip
from gitworker.session import Session
from gitworker.store.tasks import find_task
from gitworker.store.workers import Worker, find_worker, set_process
from gitworker.workers.submit import Submission, submit


class Ending:
    """How an agent ended: its code (negative: the signal), and the reason if it was stopped.

    `is_late`: the time limit stopped it.
    """

    __slots__ = ("code", "is_late", "why")

    def __init__(self, code: int, *, why: str = "", is_late: bool = False) -> None:
        self.code = code
        self.why = why
        self.is_late = is_late


def finish(session: Session, run: AgentRun, ending: Ending, *, is_attended: bool) -> str:
    """Record the end of a run and its consequences for the worker; return them in a sentence.

    Status 0 submits the work if there are commits and no uncommitted changes, and others than those
    that were sent back; otherwise the worker remains WORKING, so that a person can look. Any other
    end fails the task, which is tried again. A stop by an order or the time limit blocks the task
    until it is resumed or assigned. A worker whose state the agent or a person has changed
    meanwhile is left alone, and so is one whose task is paused or waits for an answer, or whose
    work was sent back to its author. If the caller has a terminal with a keyboard (`is_attended`),
    a worker that remains WORKING is bound to the caller's process, as after `start`.
    """
    code = ending.code
    reason = clipped(ending.why or reason_of(code))
    outcome = _settle_worker(session, run, reason, ending)
    duration_ms = max(0, clock.monotonic_ms() - run.started_mono_ms)
    with session.store.write() as writer:
        record_end(
            writer, run.record, status=shell_status(code), reason=reason, duration_ms=duration_ms
        )
    if is_attended:
        _bind_to_caller(session, run)
    publish_views(session, run.worker)
    return outcome


def _settle_worker(session: Session, run: AgentRun, reason: str, ending: Ending) -> str:
    as_worker = session._replace(actor=run.worker)
    try:
        worker = _read_worker(session, run)
        is_ours = worker.task_id == run.task and worker.pid == run.pid
        if not may_end(worker.state, is_ours=is_ours):
            return f"{run.worker} is {worker.state}"
        if ending.why:
            stopped = stop(as_worker, run.worker, reason=reason, is_late=ending.is_late)
            return f"{run.worker} is {stopped.state}: {reason}"
        if worker.waits_for_author:
            return f"{run.worker} is still {worker.state}: its work was sent back"
        if _waits(session, run):
            return (
                f"{run.worker} is still {worker.state}: {run.task} is paused or waits for an answer"
            )
        if is_stale(worker.state):
            recover(as_worker, run.worker)
        if reason:
            failed = fail(as_worker, run.worker, reason=reason)
            return f"{run.worker} is {failed.state}: {reason}"
        tip = find_tip(session.git, session.repository.common_dir, worker.ref)
        if is_unanswered(worker.returned_by, worker.returned_tip, tip):
            return (
                f"{run.worker} is still {worker.state}: nothing was committed since its work was"
                " sent back"
            )
        done = submit(as_worker, run.worker, Submission())
    except GitWorkerError as error:  # nothing to submit, or another operation is in progress
        hint = f"\nhint: {error.hint}" if error.hint else ""
        return f"{run.worker} is still {_read_worker(session, run).state}: {error.message}{hint}"
    except OSError as error:  # a view could not be written; the end of the run is still recorded
        return f"{run.worker} is {_read_worker(session, run).state}: {error}"
    return f"{run.worker} is {done.worker.state} at {done.commit[:10]}"


def _bind_to_caller(session: Session, run: AgentRun) -> None:
    """Bind a worker that is still WORKING to the caller's process and keep its heartbeat alive."""
    worker = _read_worker(session, run)
    caller = find_calling_agent()
    if caller is None or not may_end(worker.state, is_ours=worker.pid == run.pid):
        return
    with session.store.write() as writer:
        set_process(writer, run.worker, pid=caller.pid, start=caller.start, origin=this_origin())
    ensure_heartbeat_daemon(session.paths, every_s=session.settings.liveness_beat_s)


def _waits(session: Session, run: AgentRun) -> bool:
    """Return True if the task is paused or waits for an answer: its agent may end meanwhile."""
    with session.store.read() as reader:
        task = find_task(reader, run.task)
    return task is not None and needs_no_heartbeat(task.status)


def _read_worker(session: Session, run: AgentRun) -> Worker:
    with session.store.read() as reader:
        worker = find_worker(reader, run.worker)
    if worker is None:  # the state directory was replaced by another
        raise Unavailable(f"worker {run.worker} is not known here any more")
    return worker
