"""What the end of an agent means: handed in, failed, or left for somebody to look at; all told."""

from __future__ import annotations

from gitworker import clock
from gitworker.agents.launch import Run
from gitworker.agents.rules import clipped, is_stale_seat, may_end, reason_of, shell_status
from gitworker.errors import GitWorkerError, Unavailable
from gitworker.lifecycle.fail import fail, recover, stop
from gitworker.lifecycle.rules import is_rightly_silent
from gitworker.lifecycle.runs import record_end
from gitworker.lifecycle.state_views import publish_views
from gitworker.liveness.origin import origin_columns
from gitworker.liveness.processes import nearest_agent
from gitworker.liveness.start_daemon import ensure_beater
from gitworker.session import Session
from gitworker.store.api import Row
from gitworker.store.tasks import find_task
from gitworker.workers.submit import Submission, submit


class Ending:
    """How an agent ended: its code (negative: the signal), and who had it stopped, if anybody.

    `is_late` where that was the time limit.
    """

    __slots__ = ("code", "is_late", "why")

    def __init__(self, code: int, *, why: str = "", is_late: bool = False) -> None:
        self.code = code
        self.why = why
        self.is_late = is_late


def finish(session: Session, run: Run, ending: Ending, *, is_attended: bool) -> str:
    """Record how a run ended and what follows for its seat; return that in a sentence.

    Status 0 hands the work in where there are commits and nothing is uncommitted; otherwise the
    seat stays at work, for somebody to look at. Any other end fails the task, which is tried again;
    one that was ordered, or came by the time limit, blocks it until somebody assigns it. A seat
    that the agent or a person has moved on meanwhile is left alone, and so is one whose task is
    paused or waits for an answer. Where somebody sits at the caller's terminal (`is_attended`), a
    seat that stays at work is theirs from then on, as after `start`.
    """
    code = ending.code
    reason = clipped(ending.why or reason_of(code))
    outcome = _settle_seat(session, run, reason, ending)
    row = {
        "id": run.id, "worker_id": run.worker, "task_id": run.task, "pid": run.pid,
        "command": run.command,
    }  # fmt: skip
    duration_ms = max(0, clock.monotonic_ms() - run.started_mono_ms)
    with session.store.write() as writer:
        record_end(writer, row, status=shell_status(code), reason=reason, duration_ms=duration_ms)
    if is_attended:
        _hand_over(session, run)
    publish_views(session, run.worker)
    return outcome


def _settle_seat(session: Session, run: Run, reason: str, ending: Ending) -> str:
    acting = session._replace(actor=run.worker)
    try:
        seat = _seat(session, run)
        is_ours = seat["task_id"] == run.task and seat["pid"] == run.pid
        if not may_end(seat["state"], is_ours=is_ours):
            return f"{run.worker} is {seat['state']}"
        if ending.why:
            stopped = stop(acting, run.worker, reason=reason, is_late=ending.is_late)
            return f"{run.worker} is {stopped.state}: {reason}"
        if _waits(session, run):
            return (
                f"{run.worker} is {seat['state']} still: {run.task} waits for an answer or a time"
            )
        if is_stale_seat(seat["state"]):
            recover(acting, run.worker)
        if reason:
            failed = fail(acting, run.worker, reason=reason)
            return f"{run.worker} is {failed.state}: {reason}"
        done = submit(acting, run.worker, Submission())
    except GitWorkerError as error:  # nothing to hand in, or somebody else's act stands
        hint = f"\nhint: {error.hint}" if error.hint else ""
        return f"{run.worker} is {_seat(session, run)['state']} still: {error.message}{hint}"
    except OSError as error:  # a view could not be written; the run's end can be told all the same
        return f"{run.worker} is {_seat(session, run)['state']}: {error}"
    return f"{run.worker} is {done.worker.state} at {done.commit[:10]}"


def _hand_over(session: Session, run: Run) -> None:
    """Let whoever runs us be the process of a seat that is still at work, and beaten for."""
    seat = _seat(session, run)
    heir = nearest_agent()
    if heir is None or not may_end(seat["state"], is_ours=seat["pid"] == run.pid):
        return
    with session.store.write() as writer:
        writer.run(
            "workers.set_process",
            worker=run.worker, pid=heir.pid, pid_start=heir.start, **origin_columns(),
        )  # fmt: skip
    ensure_beater(session.paths, every_s=session.settings.liveness_beat_s)


def _waits(session: Session, run: Run) -> bool:
    """Tell whether the task is paused or asks something: its agent may end meanwhile."""
    with session.store.read() as reader:
        task = find_task(reader, run.task)
    return task is not None and is_rightly_silent(task.status)


def _seat(session: Session, run: Run) -> Row:
    with session.store.read() as reader:
        row = reader.row("workers.by_id", worker=run.worker)
    if row is None:  # another state directory stands in its place
        raise Unavailable(f"worker {run.worker} is not known here any more")
    return row
