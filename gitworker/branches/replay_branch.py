"""Replay a worker's branch onto the target; shared by approve and merge."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from gitworker import clock
from gitworker.bus.drain import record_rewrite
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import anchor_of
from gitworker.repo.checkout.move_branch import move_branch
from gitworker.repo.history.diffs import diff_commits
from gitworker.repo.history.patch_ids import keeps_patches
from gitworker.repo.plumbing.refs import change_refs, find_tip, read_loose_refs
from gitworker.repo.replay.replay import ReplayConflict, Replayed, replay
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.repo.rescue.rescue_refs import rescue_tips
from gitworker.repo.worktrees.ownership import has_worktree, owner_of, require_checkout
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.session import Session, missing_target
from gitworker.store.api import Writer
from gitworker.store.operations import Operation, begin_operation
from gitworker.store.payloads.payload import ApproveData, MergeData
from gitworker.store.workers import Worker


class BranchTips(NamedTuple):
    """The two commits at the start of a landing."""

    ref: Ref
    branch: Oid
    target: Oid


class Rewrite(NamedTuple):
    """The planned replacement of a branch's commits: `old` becomes `new`.

    `worktree` is the checkout of the branch, and `admin_dir` its git directory, or None.
    """

    ref: Ref
    old: Oid
    new: Oid
    rescue_ref: str | None
    worktree: str | None
    admin_dir: str | None


def read_tips(session: Session, worker: Worker) -> BranchTips:
    """Return the tips of the worker's branch and of the target; raise NotFound without either."""
    assert worker.branch is not None
    ref = worker.ref
    common_dir = session.repository.common_dir
    names = (ref, session.target_of(worker))
    tip, target = (find_tip(session.git, common_dir, name) for name in names)
    if target is None:
        raise missing_target(session.aimed_at(worker.lands_on))
    if tip is None:
        from gitworker.observe.next_step.trouble import missing_branch  # only for this error

        raise missing_branch(session, worker)
    return BranchTips(ref, tip, target)


def replay_onto_target(
    session: Session, tips: BranchTips, *, memory: ReplayCache, exclude: Oid | None = None
) -> Replayed | ReplayConflict:
    """Return the replayed branch, or the conflict. Moves nothing.

    `exclude` is the commit before the own commits of a stacked branch (`stack.own_start`).
    """
    return replay(
        session.git,
        target=tips.target,
        topic=tips.branch,
        scratch_dir=session.scratch_dir,
        exclude=exclude,
        memory=memory,
    )


def carries_all_patches(
    session: Session, replayed: Replayed, *, base: Oid, memory: ReplayCache
) -> bool:
    """Return True if every commit certainly still has its patch; False proves nothing.

    The same process compares the new tip with `base`; the result is added to `memory`.
    """
    kept = [(pick.old, pick.new) for pick in replayed.picks if pick.new is not None]
    if not kept or len(kept) < len(replayed.picks):
        return False
    move = f"{replayed.new} {base}"
    commits = [oid for pair in kept for oid in pair]
    changes = diff_commits(session.git, [*commits, move], known=memory.changes)
    if changes is not None:
        memory.changes[move] = changes[-1]
    return keeps_patches(session.git, kept, known=memory.changes)


def plan_rewrite(session: Session, worker: Worker, tips: BranchTips, *, new: Oid) -> Rewrite:
    """Find the checkout of a branch that is to become `new`; rescue its tip before it moves."""
    worktree, admin_dir = _find_place(session, worker, tips.ref)
    return Rewrite(tips.ref, tips.branch, new, None, worktree, admin_dir)


def rescue_old_tips(session: Session, planned: Sequence[tuple[Worker, Rewrite]]) -> list[Rewrite]:
    """Save the old tips of branches that are to be rewritten, by one process for all of them.

    Their new commits are protected by anchor refs: no other ref has them yet, and a `git gc
    --prune=now` after a kill would delete the commits that the journal names.
    """
    moving = [(worker, rewrite) for worker, rewrite in planned if rewrite.new != rewrite.old]
    saved = rescue_tips(
        session.git,
        [(worker.worker_id, worker.task, rewrite.old) for worker, rewrite in moving],
        also=[
            f"update {anchor_of(worker.worker_id, worker.task_id or '')} {rewrite.new}"
            for worker, rewrite in moving
        ],
    )
    refs = {rewrite.ref: str(kept.ref) for (_, rewrite), kept in zip(moving, saved, strict=True)}
    return [rewrite._replace(rescue_ref=refs.get(rewrite.ref)) for _, rewrite in planned]


def drop_anchors(session: Session, operations: Sequence[Operation]) -> None:
    """Delete the remaining anchors of these operations; without any, start no process."""
    anchors = [anchor_of(operation.worker_id, operation.task_id) for operation in operations]
    left = read_loose_refs(session.repository.common_dir, anchors)
    if left is None or left:
        change_refs(session.git, [f"delete {ref}" for ref in anchors], reason="gitworker: landed")


def begin_rewrite(
    writer: Writer, worker: Worker, kind: str, *, actor: str, data: ApproveData | MergeData
) -> int:
    """Write the journal of an operation that replaces a branch's commits; return its id."""
    if data.new != data.old:
        record_rewrite(writer, data.ref, old=data.old, new=data.new)
    return begin_operation(
        writer,
        kind,
        worker=worker.worker_id,
        task=worker.task,
        actor=actor,
        now=clock.now_ms(),
        data=data,
    )


def move_to(session: Session, rewrite: Rewrite) -> None:
    """Move the branch, and its worktree with it, by compare-and-set."""
    if rewrite.new != rewrite.old:
        move_branch(
            session.git,
            ref=rewrite.ref,
            old=rewrite.old,
            new=rewrite.new,
            worktree=rewrite.worktree,
            admin_dir=rewrite.admin_dir,
        )


def _find_place(session: Session, worker: Worker, ref: Ref) -> tuple[str | None, str | None]:
    """Return the worktree and its git directory; a user may have removed the worktree by hand.

    Raises Refused if the recorded path is not the worker's worktree, or if git's own directory of
    the worktree does not exist: its files could not follow the branch.
    """
    owner = owner_of(session.repository.common_dir, worker)
    if owner is not None and has_worktree(owner):
        return owner.place, owner.admin_dir
    other = find_checkout(session.git, ref)
    if other is None or not os.path.isdir(other):
        return None, None
    return other, require_checkout(session.git, other)
