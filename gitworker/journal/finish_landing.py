"""Finish a landing whose target has moved: record it, then remove worktree and branch.

A worktree that held only the commit is deleted at once, one with ignored files after seven days
(`repo/rescue/trash.py`). One with uncommitted or untracked files stays in the trash, and a rescue
ref keeps these files.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

from gitworker import clock
from gitworker.branches.replay_branch import drop_anchors
from gitworker.bus.drain import record_tip
from gitworker.errors import GitWorkerError
from gitworker.lifecycle.moves import advance, release_task
from gitworker.model.ids import TaskId
from gitworker.model.outcome import LeftOut
from gitworker.model.ref_names import short_name
from gitworker.model.worker import WorkerEvent
from gitworker.processes.jobs import start_job
from gitworker.repo.checkout.move_branch import move_branch
from gitworker.repo.checkout.recover_move import find_unfinished, recover_move
from gitworker.repo.plumbing.refs import find_ref, find_tip, read_loose_refs
from gitworker.repo.status.checkout_status import open_operation
from gitworker.repo.worktrees.ownership import Flaw, describe, find_flaw, owner_of, read_head
from gitworker.repo.worktrees.worktree_list import find_inner, linked_places
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import Operation, advance_operation, close_operation
from gitworker.store.payloads.payload import MergeData
from gitworker.store.records.landings import Landing, record_landing
from gitworker.store.workers import Worker, load_worker
from gitworker.worktrees.left_out import find_left_out, find_rescued
from gitworker.worktrees.occupied import distant_process, occupants
from gitworker.worktrees.removal import (
    Discard,
    WorkerToRemove,
    find_detached_head,
    has_landed,
    is_locked,
    plan_removals,
    remove,
)

# The steps of a landing. A push that has begun may have landed, even if we were killed.
PUSHING = "pushing"
ANSWERED = "answered"  # the remote was queried: its tracking ref shows whether it took the push
PUSHED = "pushed"
RECORDED = "recorded"  # published, but not cleaned up


def finish_merge(writer: Writer, operation: Operation) -> Worker:
    """Record a landing whose target has moved: COMPLETED, the landing's row, the message.

    The operation stays open, at step `recorded`, until the worktree and branch are removed.
    """
    data = operation.payload(MergeData)
    worker = load_worker(writer, operation.worker_id)
    now = clock.now_ms()
    worker = advance(
        writer, worker, WorkerEvent.MERGE, actor=operation.actor,
        metadata={"commit": data.new, "target": data.target_ref},
    )  # fmt: skip
    landing = Landing(
        worker.worker_id, TaskId(operation.task_id), data.target_ref,
        target_old=data.target_old, target_new=data.new, branch_old=data.old, landed_at_ms=now,
    )  # fmt: skip
    record_landing(writer, operation.id, landing, branch=worker.branch)
    record_tip(writer, data.ref, data.old)
    record_tip(writer, data.target_ref, data.new)
    release_task(writer, worker)
    advance_operation(writer, operation.id, step=RECORDED, data=data, now=now)
    return worker


def close_merges(session: Session, operations: Sequence[Operation]) -> None:
    """Close the operations of landings that are complete."""
    drop_anchors(session, operations)
    with session.store.write_own() as writer:
        for operation in operations:
            close_operation(
                writer, operation.id, status="done", step=RECORDED, data=operation.data,
                now=clock.now_ms(),
            )  # fmt: skip
    _delete_from_remote(session, [operation.payload(MergeData) for operation in operations])


def _delete_from_remote(session: Session, landings: Sequence[MergeData]) -> None:
    """Start the job that deletes the branches of landed work, which a fleet has pushed."""
    refs = [one.ref for one in landings if one.pushed and not one.keep]
    if refs and session.store.fleet_machine is not None:
        start_job("delete-landed", session.repository.common_dir, *refs)


class CleanedWorktree(NamedTuple):
    """A landed worktree: kept, and the reason, or removed, and the part that may be deleted.

    `left_out` are the uncommitted files in it.
    """

    kept: str | None = None
    why: str | None = None
    discard: Discard | None = None
    left_out: LeftOut | None = None


class LandedOperation(NamedTuple):
    """A landed worker, the data of its journal, and whether its worktree is dirty, if known."""

    worker: Worker
    data: MergeData
    dirty: bool | None = None


def clean_up(session: Session, landings: Sequence[LandedOperation]) -> list[CleanedWorktree]:
    """Remove the worktrees and branches of landed workers; return the reason for each kept one.

    A branch that is kept moves to the commits that landed.
    """
    landed = [
        LandedWorker(one.worker, (one.data.old, one.data.new), one.dirty)
        for one in landings
        if not one.data.keep
    ]
    removed = iter(remove_landed(session, landed))
    results = []
    for one in landings:
        cleaned = CleanedWorktree(one.worker.worktree, "--keep") if one.data.keep else next(removed)
        if cleaned.why is not None:
            _follow(session, one.data)
        if not cleaned.kept:
            cleaned = cleaned._replace(why=None)
        else:
            cleaned = cleaned._replace(left_out=find_left_out(session, one.worker))
        results.append(cleaned)
    return results


class LandedWorker(NamedTuple):
    """A worker that has landed; `known` are tips of its branch whose patches have landed."""

    worker: Worker
    known: tuple[str, ...] = ()
    dirty: bool | None = None


def remove_landed(session: Session, landed: Sequence[LandedWorker]) -> list[CleanedWorktree]:
    """Remove the worktrees and branches of landed workers that are not in use."""
    places = linked_places(session.repository.common_dir)
    results = [_kept(session, one, places) for one in landed]
    removals = [
        WorkerToRemove(one.worker, one.dirty, one.known)
        for one, kept in zip(landed, results, strict=True)
        if kept is None
    ]
    removed = iter(_try_to_remove(session, removals))
    return [next(removed) if kept is None else kept for kept in results]


def _kept(session: Session, landed: LandedWorker, places: Sequence[str]) -> CleanedWorktree | None:
    """Return why a landed worktree is kept, or None; `places` are those of all worktrees.

    A worktree inside it, as some agents make them, would be removed with it.
    """
    worker = landed.worker
    inner = None if worker.worktree is None else find_inner(places, worker.worktree)
    if inner is not None:
        return CleanedWorktree(worker.worktree, f"the worktree {inner} lies in it")
    why = _reason_to_keep(session, worker, landed.known)
    if why is None and worker.worktree is not None:
        return None
    return CleanedWorktree(worker.worktree, why or "it has no worktree")


def _try_to_remove(session: Session, removals: Sequence[WorkerToRemove]) -> list[CleanedWorktree]:
    """Remove landed worktrees; one that cannot be removed is kept, with the reason."""
    try:
        operations = plan_removals(session, removals, "remove")
    except GitWorkerError as error:
        if len(removals) > 1:  # nothing is written yet, and one of them blocks all
            return [cleaned for one in removals for cleaned in _try_to_remove(session, [one])]
        return [CleanedWorktree(removals[0].worker.worktree, error.message)]
    try:
        removed = remove(session, operations)
    except GitWorkerError as error:  # the next command finishes the journaled operations
        return [CleanedWorktree(find_left(session, one.worker), error.message) for one in removals]
    return [
        CleanedWorktree(find_left(session, one.worker), result.message)
        if isinstance(result, GitWorkerError)
        else CleanedWorktree(discard=result.discard, left_out=find_rescued(session, result.data))
        for one, result in zip(removals, removed, strict=True)
    ]


def find_left(session: Session, worker: Worker) -> str | None:
    """Return the rest of a landed worker: its worktree, else its branch, else None."""
    if worker.worktree is not None and os.path.isdir(worker.worktree):
        return worker.worktree
    ref = worker.ref
    found = read_loose_refs(session.repository.common_dir, [ref])
    return worker.branch if found is None or ref in found else None


def _follow(session: Session, landing: MergeData) -> None:
    """Move a branch that is kept, and its worktree, to the commits that landed.

    If that is refused (local changes are in the way, an agent is in the middle of a rebase), the
    branch stays as it is: its patches have landed, and `git worker sync` moves it later. Raises
    the error if the move stopped in the middle: the landing is not finished then.
    """
    ref, old, new = landing.ref, landing.old, landing.new
    place, admin_dir = landing.worktree, landing.admin_dir
    if place is not None and not os.path.isdir(place):
        place = admin_dir = None
    if old == new or find_ref(session.git, ref) is None:
        return
    try:
        if not recover_move(
            session.git, ref=ref, old=old, new=new, worktree=place, admin_dir=admin_dir
        ):
            move_branch(session.git, ref=ref, old=old, new=new, worktree=place, admin_dir=admin_dir)
    except (GitWorkerError, OSError):
        if admin_dir is not None and find_unfinished(admin_dir) is not None:
            raise


def _reason_to_keep(session: Session, worker: Worker, known: tuple[str, ...]) -> str | None:
    owner = owner_of(session.repository.common_dir, worker)
    flaw = owner and find_flaw(owner)
    if owner is not None and flaw is not None and flaw is not Flaw.MISSING:
        return describe(owner, flaw)
    if owner is not None and flaw is None:
        head = read_head(session.git, owner)
        if head not in (None, owner.ref):
            return f"it is on {short_name(str(head))}"
    pids = occupants(worker)
    if pids:
        return f"process {pids[0]} has its working directory there"
    distant = distant_process(session, worker)
    if distant is not None:
        return f"process {distant} of another PID namespace or host may work there"
    if is_locked(worker):
        return "it is locked (git worktree unlock)"
    ref = worker.ref
    tip = find_tip(session.git, session.repository.common_dir, ref)
    if not has_landed(session, worker, tip, known):
        return "its branch has commits that have not landed"
    if not has_landed(session, worker, find_detached_head(session, worker), known):
        return "its HEAD is detached at commits that have not landed"
    busy = open_operation(worker.admin_dir or "")
    if busy is not None:  # it may hold work that git status does not show, as an autostash
        return f"a {busy} is open there"
    return None
