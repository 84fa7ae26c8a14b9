"""Replaying a worker's branch onto the target: the part that approve and merge share."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gitworker import clock
from gitworker.bus.drain import record_rewrite
from gitworker.errors import NotFound
from gitworker.model.ids import Branch, Oid, Ref, TaskId, WorkerId, ref_of
from gitworker.repo.checkout.move_branch import move_branch
from gitworker.repo.history.patch_ids import keeps_patches
from gitworker.repo.plumbing.refs import change_refs, find_tip, read_loose_refs
from gitworker.repo.replay.replay import ReplayConflict, Replayed, replay
from gitworker.repo.replay.replay_cache import Memory
from gitworker.repo.rescue.rescue_refs import rescue_tips
from gitworker.repo.worktrees.ownership import has_worktree, owner_of, require_checkout
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.session import Session, missing_target
from gitworker.store.api import Writer
from gitworker.store.operations import Operation, begin_operation
from gitworker.store.workers import Worker

ANCHORS = "refs/worker/landing/"


@dataclass(frozen=True, slots=True)
class Tips:
    """The two commits that a landing starts from."""

    ref: Ref
    branch: Oid
    target: Oid


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A branch's commits about to be replaced: `old` becomes `new`.

    `worktree` is where it is checked out, with that worktree's own git directory, or None.
    """

    ref: Ref
    old: Oid
    new: Oid
    rescue_ref: str | None
    worktree: str | None
    admin_dir: str | None


def read_tips(session: Session, worker: Worker) -> Tips:
    """Return the tips of the worker's branch and of the target; raise NotFound without either."""
    assert worker.branch is not None
    ref = ref_of(Branch(worker.branch))
    common_dir = session.repository.common_dir
    tip, target = (find_tip(session.git, common_dir, name) for name in (ref, session.target))
    if target is None:
        raise missing_target(session)
    if tip is None:
        raise NotFound(f"the branch {worker.branch} is gone", "git worker fsck --repair")
    return Tips(ref, tip, target)


def replay_onto_target(
    session: Session, tips: Tips, *, memory: Memory, exclude: Oid | None = None
) -> Replayed | ReplayConflict:
    """Return what the branch becomes on the target, or the conflict. Moves nothing.

    `exclude` is where a branch that stands on another worker's begins (`stack.own_start`).
    """
    return replay(
        session.git,
        target=tips.target,
        topic=tips.branch,
        scratch_dir=session.scratch_dir,
        exclude=exclude,
        memory=memory,
    )


def carries_all_patches(session: Session, replayed: Replayed, *, memory: Memory) -> bool:
    """Tell whether every commit of the branch surely has its patch still; False says nothing."""
    pairs = [(pick.old, pick.new) for pick in replayed.picks]
    kept = [(old, new) for old, new in pairs if new is not None]
    return (
        bool(pairs)
        and len(kept) == len(pairs)
        and keeps_patches(session.git, kept, known=memory.changes)
    )


def plan_rewrite(session: Session, worker: Worker, tips: Tips, *, new: Oid) -> Rewrite:
    """Find out where a branch that is to become `new` is checked out; rescue it before it moves."""
    worktree, admin_dir = _find_place(session, worker, tips.ref)
    return Rewrite(tips.ref, tips.branch, new, None, worktree, admin_dir)


def rescue_old_tips(session: Session, planned: Sequence[tuple[Worker, Rewrite]]) -> list[Rewrite]:
    """Keep the old tips of branches that are to be rewritten, by one process for all of them.

    Their new commits are kept as well, by an anchor: no ref leads to them yet, and a `git gc
    --prune=now` after a kill would take what the journal names.
    """
    going = [(worker, rewrite) for worker, rewrite in planned if rewrite.new != rewrite.old]
    saved = rescue_tips(
        session.git,
        [
            (WorkerId(worker.worker_id), TaskId(worker.task_id or ""), rewrite.old)
            for worker, rewrite in going
        ],
        also=[
            f"update {anchor_of(worker.worker_id, worker.task_id or '')} {rewrite.new}"
            for worker, rewrite in going
        ],
    )
    refs = {rewrite.ref: str(kept.ref) for (_, rewrite), kept in zip(going, saved, strict=True)}
    return [replace(rewrite, rescue_ref=refs.get(rewrite.ref)) for _, rewrite in planned]


def anchor_of(worker: str, task: str) -> Ref:
    """Return the ref that keeps what a worker's branch is about to become.

    It goes with the branch, or when the act that made it is taken back or has landed.
    """
    return Ref(f"{ANCHORS}{worker}/{task}")


def drop_anchors(session: Session, acts: Sequence[Operation]) -> None:
    """Delete what anchors of these acts are left; no process is started where none are."""
    anchors = [anchor_of(act.worker_id, act.task_id) for act in acts]
    left = read_loose_refs(session.repository.common_dir, anchors)
    if left is None or left:
        change_refs(session.git, [f"delete {ref}" for ref in anchors], reason="gitworker: landed")


def begin_rewrite(
    writer: Writer,
    worker: Worker,
    rewrite: Rewrite,
    *,
    kind: str,
    actor: str,
    data: Mapping[str, object],
) -> int:
    """Write the journal of an act that replaces a branch's commits; return the act's id."""
    if rewrite.new != rewrite.old:
        record_rewrite(writer, rewrite.ref, old=rewrite.old, new=rewrite.new)
    return begin_operation(
        writer,
        kind,
        worker=worker.worker_id,
        task=worker.task_id or "",
        actor=actor,
        now=clock.now_ms(),
        data={
            "ref": rewrite.ref, "old": rewrite.old, "new": rewrite.new,
            "rescue": rewrite.rescue_ref, "worktree": rewrite.worktree,
            "admin_dir": rewrite.admin_dir, **data,
        },
    )  # fmt: skip


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
    """Return where the branch is checked out: a user may have removed the worktree by hand.

    Raises Refused if something else than the worker's worktree is at the recorded place, or git's
    own directory of it does not exist: the files there could not follow the branch.
    """
    owner = owner_of(session.repository.common_dir, worker)
    if owner is not None and has_worktree(owner):
        return owner.place, owner.admin_dir
    elsewhere = find_checkout(session.git, ref)
    if elsewhere is None or not os.path.isdir(elsewhere):
        return None, None
    return elsewhere, require_checkout(session.git, elsewhere)
