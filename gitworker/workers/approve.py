"""approve: the mandatory rebase onto the target, then APPROVED with commit and patches."""

from dataclasses import dataclass

from gitworker.bus.drain import drain
from gitworker.crashpoint import crash_point
from gitworker.landing.replay_branch import (
    Rewrite,
    journal_rewrite,
    move_to,
    read_tips,
    replay_onto_target,
)
from gitworker.model.ids import Oid
from gitworker.model.worker import WorkerEvent
from gitworker.repo.lock import hold
from gitworker.repo.patches import patch_ids
from gitworker.repo.replay import ReplayConflict
from gitworker.session import Session
from gitworker.states.engine import InvalidTransition
from gitworker.states.worker import worker_transition
from gitworker.store.operations import find_operation
from gitworker.store.workers import Worker
from gitworker.workers.find import require_worker
from gitworker.workers.recover import finish_interrupted, give_up, roll_back
from gitworker.workers.review import reviewer_of_record
from gitworker.workers.rules import may_judge
from gitworker.workers.verdict import finish_approval, send_back
from gitworker.workers.views import publish_views


@dataclass(frozen=True, slots=True)
class Approved:
    """An approved worker: the commit that was approved and where the branch was before."""

    worker: Worker
    commit: Oid
    rebased_from: Oid | None
    rescue_ref: str | None


def approve(session: Session, name: str, *, note: str = "") -> Approved:
    """Rebase the worker's branch onto the target and record the approval.

    Raises Conflict with the files named when the rebase conflicts: the worker is then WORKING
    again. Raises Refused or InvalidTransition before anything is touched.
    """
    with hold(session.landing_lock, what="landing"):
        finish_interrupted(session)
        drain(session)
        worker = _check(session, name)
        tips = read_tips(session, worker)
        outcome = replay_onto_target(session, tips)
        if isinstance(outcome, ReplayConflict):
            raise send_back(session, worker, outcome)
        verdict = {
            "base": tips.target,
            "note": note,
            "reviewer": reviewer_of_record(session),
            "identity": session.actor,
            "patches": list(patch_ids(session.git, tips.target, outcome)),
        }
        rewrite = journal_rewrite(session, worker, tips, new=outcome, kind="approve", data=verdict)
        try:
            move_to(session, rewrite)
        except BaseException:
            give_up(session, rewrite.operation)
            raise
        crash_point("approve.moved")
        worker = _finish(session, rewrite)
    crash_point("approve.recorded")
    publish_views(session, worker.worker_id)
    moved = rewrite.old if rewrite.old != rewrite.new else None
    return Approved(worker, rewrite.new, moved, rewrite.rescue_ref)


def _check(session: Session, name: str) -> Worker:
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
    refusal = may_judge(session.actor, worker.worker_id, self_review=session.settings.review_self)
    if refusal is not None:
        raise refusal
    worker_transition(worker.state, WorkerEvent.APPROVE, stale_from=worker.stale_from)
    return worker


def _finish(session: Session, rewrite: Rewrite) -> Worker:
    try:
        with session.store.write() as writer:
            operation = find_operation(writer, rewrite.operation)
            assert operation is not None
            return finish_approval(writer, operation)
    except InvalidTransition:  # rejected, or failed, while the branch moved: that stands
        roll_back(session, rewrite.operation)
        raise
