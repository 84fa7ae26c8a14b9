"""merge: approved work reaches the target. Replay if it moved, fast-forward, record, clean up."""

import json
from dataclasses import dataclass

from gitworker import clock
from gitworker.bus.drain import drain
from gitworker.bus.publish import Outgoing, publish
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, GitWorkerError, Refused
from gitworker.landing.replay_branch import (
    Tips,
    journal_rewrite,
    move_to,
    read_tips,
    replay_onto_target,
)
from gitworker.landing.rules import approval_holds, is_still_approved
from gitworker.model.ids import Oid
from gitworker.model.worker import WorkerEvent
from gitworker.repo.fastforward import fast_forward
from gitworker.repo.lock import hold
from gitworker.repo.patches import patch_ids
from gitworker.repo.replay import ReplayConflict
from gitworker.repo.worktrees import find_checkout
from gitworker.session import Session
from gitworker.states.worker import worker_transition
from gitworker.store.operations import find_operation
from gitworker.store.workers import Worker, all_workers, find_worker
from gitworker.workers.find import require_worker
from gitworker.workers.landed import clean_up, close_merge, finish_merge
from gitworker.workers.moves import advance
from gitworker.workers.recover import finish_interrupted, give_up
from gitworker.workers.rules import is_approved, may_judge
from gitworker.workers.verdict import send_back
from gitworker.workers.views import publish_views


@dataclass(frozen=True, slots=True)
class Landed:
    """One landed worker: the target's new tip, and the worktree if it was kept and why."""

    worker: Worker
    commit: Oid
    target: str
    kept: str | None
    kept_why: str | None


@dataclass(frozen=True, slots=True)
class NotLanded:
    """One worker that did not land, with the reason."""

    worker_id: str
    error: GitWorkerError


def merge(
    session: Session, names: list[str], *, everything: bool = False, keep: bool = False
) -> list[Landed | NotLanded]:
    """Land workers one after the other, oldest approval first with `everything`.

    A worker that cannot land is reported and does not stop the others. The target only ever
    moves by fast-forward.
    """
    results: list[Landed | NotLanded] = []
    with hold(session.landing_lock, what="landing"):
        finish_interrupted(session)
        drain(session)
        for worker in _chosen(session, names, everything=everything):
            try:
                results.append(_land(session, worker, keep=keep))
            except GitWorkerError as error:
                results.append(NotLanded(worker.worker_id, error))
    return results


def _chosen(session: Session, names: list[str], *, everything: bool) -> list[Worker]:
    with session.store.read() as reader:
        if everything:
            waiting = [w for w in all_workers(reader) if is_approved(w.state)]
            chosen = sorted(waiting, key=lambda w: (w.state_changed_at_ms, w.worker_id))
        else:
            chosen = [require_worker(reader, name, session) for name in names]
    for worker in chosen:
        refusal = may_judge(
            session.actor, worker.worker_id, self_review=session.settings.review_self
        )
        if refusal is not None:
            raise refusal
    return chosen


def _land(session: Session, worker: Worker, *, keep: bool) -> Landed:
    worker_transition(worker.state, WorkerEvent.MERGE, stale_from=worker.stale_from)
    tips = read_tips(session, worker)
    approved = _approved_patches(session, worker, tips)
    outcome = replay_onto_target(session, tips)
    if isinstance(outcome, ReplayConflict):
        raise send_back(session, worker, outcome)
    present = patch_ids(session.git, tips.target, outcome)
    if not approval_holds(approved, present):
        raise _withdraw(session, worker, "the rebase changed what was approved")
    data = {"target_ref": session.target, "target_old": tips.target, "keep": keep}
    rewrite = journal_rewrite(session, worker, tips, new=outcome, kind="merge", data=data)
    try:
        move_to(session, rewrite)
        crash_point("merge.moved")
        fast_forward(
            session.git,
            ref=session.target,
            old=tips.target,
            new=outcome,
            worktree=find_checkout(session.git, session.target),
            reason=f"git worker merge {worker.worker_id}: {worker.task_id}",
        )
    except BaseException:
        give_up(session, rewrite.operation)
        raise
    crash_point("merge.forwarded")
    with session.store.write() as writer:
        operation = find_operation(writer, rewrite.operation)
        assert operation is not None
        landed = finish_merge(writer, operation)
    crash_point("merge.recorded")
    kept, why = clean_up(session, landed, keep=keep)
    close_merge(session, operation)
    return Landed(landed, outcome, session.target, kept, why)


def _approved_patches(session: Session, worker: Worker, tips: Tips) -> list[str]:
    """Return the approved patches; withdraw the approval where the branch holds others now."""
    with session.store.read() as reader:
        row = reader.row(
            "reviews.latest_verdict",
            worker=worker.worker_id, task=worker.task_id, verdict="approved",
        )  # fmt: skip
    if row is None:
        raise Refused(
            f"worker {worker.worker_id} has no approval on record",
            f"git worker approve {worker.worker_id}",
        )
    approved = json.loads(row["patches"])
    if tips.branch != row["commit_oid"]:
        present = patch_ids(session.git, tips.target, tips.branch)
        gone = set(approved) - set(present)
        upstream = patch_ids(session.git, row["base_oid"], tips.target) if gone else ()
        if not is_still_approved(approved, present, upstream=upstream):
            raise _withdraw(session, worker, "the branch has changed since it was approved")
    return list(approved)


def _withdraw(session: Session, worker: Worker, why: str) -> Conflict:
    with session.store.write() as writer:
        current = find_worker(writer, worker.worker_id)
        assert current is not None
        advance(
            writer, current, WorkerEvent.APPROVAL_WITHDRAWN, actor=session.actor,
            metadata={"reason": why},
        )  # fmt: skip
        writer.run("workers.set_review", worker=worker.worker_id, review_state="pending")
        publish(
            writer,
            Outgoing(
                "review_result",
                sender=session.actor,
                to=worker.worker_id,
                correlation_id=worker.task_id,
                payload={"verdict": "withdrawn", "reason": why},
            ),
            now=clock.now_ms(),
        )
    publish_views(session, worker.worker_id)
    return Conflict(
        f"{why}: the approval of {worker.worker_id} is withdrawn, it is IN_REVIEW again",
        f"git worker diff {worker.worker_id} && git worker approve {worker.worker_id}",
        code="approval_withdrawn",
    )
