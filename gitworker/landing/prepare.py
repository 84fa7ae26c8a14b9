"""Prepare an approved worker for landing: replay its commits onto the target or onto a window.

Preparing only writes objects. If the worker conflicts with the target itself, or its patches are no
longer the approved ones, it is sent back.
"""

from collections.abc import Collection
from typing import NamedTuple

from gitworker.branches.landable import require_landable
from gitworker.branches.published_submodules import require_published
from gitworker.branches.replay_branch import (
    BranchTips,
    Rewrite,
    carries_all_patches,
    plan_rewrite,
    read_tips,
    replay_onto_target,
)
from gitworker.branches.stack import own_fork_point, require_parent_landed
from gitworker.claims.leases import require_task_free
from gitworker.errors import Conflict, Refused
from gitworker.journal.recover import require_ended
from gitworker.lifecycle.moves import advance, require_event
from gitworker.lifecycle.rules import waits_for_review
from gitworker.lifecycle.state_files import publish_views
from gitworker.lifecycle.verdict import publish_verdict, send_back
from gitworker.model.ids import Oid
from gitworker.model.worker import WorkerEvent
from gitworker.repo.history.patch_ids import fingerprints, patch_ids
from gitworker.repo.history.rules_approval import (
    approval_holds,
    difference,
    is_complete,
    is_still_approved,
    patch_of,
)
from gitworker.repo.plumbing.refs import find_tip
from gitworker.repo.replay.replay import ReplayConflict
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.session import Session
from gitworker.states.engine import InvalidTransition
from gitworker.store.records.reviews import Review, find_review
from gitworker.store.workers import Worker, load_worker, set_review_state


class DoesNotStack(Exception):
    """A worker does not fit on top of those before it: try again after they have landed."""


class CannotLand(Exception):
    """A worker cannot land on a commit: a conflict, or its patches have changed.

    `anywhere` is set if the reason does not depend on the commit.
    """

    def __init__(
        self, *, conflict: ReplayConflict | None = None, why: str = "", anywhere: bool = False
    ) -> None:
        super().__init__(why)
        self.conflict = conflict
        self.why = why
        self.anywhere = anywhere


class Prepared(NamedTuple):
    """A worker whose replayed commits are written; `base` is their parent."""

    worker: Worker
    base: Oid
    rewrite: Rewrite


def prepare(
    session: Session,
    worker: Worker,
    *,
    onto: Oid | None,
    memory: ReplayCache,
    with_tasks: Collection[str] = (),
) -> Prepared:
    """Replay an approved worker onto the target, or onto `onto`, the tip of a window.

    `memory` caches the replays of the other workers in the window, `with_tasks` are their tasks.

    Raises DoesNotStack if it does not fit onto the window. Without a window, a conflict sends the
    worker back and changed patches withdraw the approval, and the error reports it. Raises Conflict
    if another worker holds the claim of the task.
    """
    try:
        return try_out(session, worker, onto=onto, memory=memory, with_tasks=with_tasks)
    except CannotLand as rejection:
        if onto is not None and not rejection.anywhere:
            raise DoesNotStack from None
        if rejection.conflict is not None:
            raise send_back(session, worker, rejection.conflict) from None
        raise withdraw(session, worker, rejection.why) from None


def _require_may_merge(session: Session, worker: Worker) -> None:
    """Raise InvalidTransition unless a worker is approved; the hint is the worker's next command.

    In review, that depends on its later commits.
    """
    try:
        require_event(session, worker, WorkerEvent.MERGE)
    except InvalidTransition as refusal:
        if waits_for_review(worker.state, worker.stale_from):
            from gitworker.observe.next_step.next_command import read_next_command  # 15 ms

            with session.store.read() as reader:
                refusal.hint = read_next_command(session, reader, worker.worker_id, session.actor)
        raise


def try_out(
    session: Session,
    worker: Worker,
    *,
    onto: Oid | None,
    memory: ReplayCache,
    with_tasks: Collection[str] = (),
) -> Prepared:
    """Prepare without changing the worker's state; raise CannotLand if it cannot land there."""
    require_ended(session, worker.worker_id)
    _require_may_merge(session, worker)
    with session.store.read() as reader:
        require_task_free(reader, worker.task, worker.worker_id)
        require_parent_landed(reader, worker, with_tasks=with_tasks)
    tips = read_tips(session, worker)
    base = tips.target if onto is None else onto
    fork_point = own_fork_point(session, worker, tip=tips.branch, target=base)
    review, approved = _approval(session, worker, tips, fork_point or tips.target)
    outcome = replay_onto_target(
        session, BranchTips(tips.ref, tips.branch, base), memory=memory, exclude=fork_point
    )
    if isinstance(outcome, ReplayConflict):
        raise CannotLand(conflict=outcome)
    is_reviewed = tips.branch == review.commit_oid
    unchanged = is_reviewed and (
        (outcome.unchanged and base == review.base_oid)  # the very range that was approved
        or carries_all_patches(session, outcome, base=base, memory=memory)
    )
    if not unchanged and not approval_holds(approved, fingerprints(session.git, base, outcome.new)):
        raise CannotLand(why="the rebase changed the approved patches")
    require_published(session, worker, base=base, tip=outcome.new)
    return Prepared(worker, base, plan_rewrite(session, worker, tips, new=outcome.new))


def _approval(
    session: Session, worker: Worker, tips: BranchTips, fork_point: Oid
) -> tuple[Review, list[str]]:
    """Return the approval and its recorded patches; raise CannotLand for other commits.

    `fork_point` is the commit after which the branch's own commits begin.
    """
    with session.store.read() as reader:
        review = find_review(reader, worker.worker_id, worker.task_id, "approved")
    if review is None:
        raise Refused(
            f"worker {worker.worker_id} has no approval on record",
            f"git worker approve {worker.worker_id}",
        )
    approved, commit = review.patches, Oid(review.commit_oid)
    if tips.branch == commit and is_complete(approved):
        return review, approved
    require_landable(
        session, worker.worker_id, [tips.branch], base=tips.target, worktree=worker.worktree
    )
    if not is_complete(approved):
        if tips.branch != commit:
            why = f"an older version of git-worker recorded this approval, only for {commit[:12]}"
            raise CannotLand(why=why, anywhere=True)
        return review, list(fingerprints(session.git, fork_point, commit))
    present = fingerprints(session.git, fork_point, tips.branch)
    missing = {patch_of(one) for one in approved} - {patch_of(one) for one in present}
    upstream = patch_ids(session.git, Oid(review.base_oid), tips.target) if missing else ()
    if not is_still_approved(approved, present, upstream=upstream):
        raise CannotLand(why=difference(approved, present), anywhere=True)
    if session.git.text("rev-list", "--min-parents=2", "-1", tips.branch, f"^{fork_point}"):
        raise CannotLand(why="a merge was committed after the approval", anywhere=True)
    return review, approved


def withdraw(session: Session, worker: Worker, why: str, *, hint: str | None = None) -> Conflict:
    """Record that an approval is withdrawn; return the error that reports it.

    Without a `hint` it names the command that approves the present commits.
    """
    with session.store.write() as writer:
        current = load_worker(writer, worker.worker_id)
        advance(
            writer, current, WorkerEvent.APPROVAL_WITHDRAWN, actor=session.actor,
            metadata={"reason": why},
        )  # fmt: skip
        set_review_state(writer, worker.worker_id, "pending")
        publish_verdict(
            writer, worker, {"verdict": "withdrawn", "reason": why}, sender=session.actor
        )
    publish_views(session, worker.worker_id)
    tip = find_tip(session.git, session.repository.common_dir, worker.ref)
    at = f" --at {tip[:12]}" if tip else ""
    name = worker.worker_id
    again = f"git worker approve {name}{at}   # after: git worker diff {name}"
    return Conflict(
        f"{why}: the approval of {worker.worker_id} is withdrawn, it is in review again",
        hint or again,
        code="approval_withdrawn",
    )
