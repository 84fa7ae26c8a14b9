"""What the end of an agent means: handed in, failed, or left for somebody to look at; all told."""

from __future__ import annotations

from gitworker import clock
from gitworker.agents.launch import Run
from gitworker.agents.rules import clipped, is_stale_seat, may_end, reason_of, shell_status
from gitworker.errors import Conflict, Refused
from gitworker.session import Session
from gitworker.store.api import Row
from gitworker.store.tasks import find_task
from gitworker.workers.fail import fail, recover
from gitworker.workers.rules import is_rightly_silent
from gitworker.workers.runs import record_end
from gitworker.workers.submit import Submission, submit
from gitworker.workers.views import publish_views


def finish(session: Session, run: Run, *, code: int, why: str) -> str:
    """Record how a run ended and what follows for its seat; return that in a sentence.

    Status 0 hands the work in where there are commits and nothing is uncommitted; otherwise the
    seat stays at work, for somebody to look at. Any other end, and one that was ordered, fails the
    task. A seat that the agent or a person has moved on meanwhile is left alone, and so is one
    whose task is paused or waits for an answer.
    """
    reason = clipped(why or reason_of(code))
    outcome = _settle_seat(session, run, reason, was_stopped=bool(why))
    row = {
        "id": run.id, "worker_id": run.worker, "task_id": run.task, "pid": run.pid,
        "command": run.command,
    }  # fmt: skip
    duration_ms = max(0, clock.monotonic_ms() - run.started_mono_ms)
    with session.store.write() as writer:
        record_end(writer, row, status=shell_status(code), reason=reason, duration_ms=duration_ms)
    publish_views(session, run.worker)
    return outcome


def _settle_seat(session: Session, run: Run, reason: str, *, was_stopped: bool) -> str:
    acting = session._replace(actor=run.worker)
    try:
        seat = _seat(session, run)
        is_ours = seat["task_id"] == run.task and seat["pid"] == run.pid
        if not may_end(seat["state"], is_ours=is_ours):
            return f"{run.worker} is {seat['state']}"
        if not was_stopped and _waits(session, run):
            return (
                f"{run.worker} is {seat['state']} still: {run.task} waits for an answer or a time"
            )
        if is_stale_seat(seat["state"]):
            recover(acting, run.worker)
        if reason:
            failed = fail(acting, run.worker, reason=reason)
            return f"{run.worker} is {failed.state}: {reason}"
        done = submit(acting, run.worker, Submission())
    except (Conflict, Refused) as error:  # nothing to hand in, or somebody else's act stands
        state = _seat(session, run)["state"]
        hint = f"\nhint: {error.hint}" if error.hint else ""
        return f"{run.worker} is {state} still: {error.message}{hint}"
    return f"{run.worker} is {done.worker.state} at {done.commit[:10]}"


def _waits(session: Session, run: Run) -> bool:
    """Tell whether the task is paused or asks something: its agent may end meanwhile."""
    with session.store.read() as reader:
        task = find_task(reader, run.task)
    return task is not None and is_rightly_silent(task.status)


def _seat(session: Session, run: Run) -> Row:
    with session.store.read() as reader:
        row = reader.row("workers.by_id", worker=run.worker)
    assert row is not None
    return row
