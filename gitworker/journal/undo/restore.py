"""Undo an approve or a removal: move the branch back, or restore branch, worktree and task."""

import os
from contextlib import suppress

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.bus.publish import Outgoing, publish
from gitworker.claims.leases import find_claim
from gitworker.crashpoint import crash_point
from gitworker.errors import GitWorkerError, NotFound, Refused
from gitworker.journal.undo.reassign import (
    RestoredWorker,
    StateBefore,
    admin_dir_of,
    assign_again,
)
from gitworker.lifecycle.lost_task import publish_return
from gitworker.lifecycle.moves import advance
from gitworker.lifecycle.rules import is_approved, return_refusal, undo_refusal
from gitworker.lifecycle.state_files import publish_views
from gitworker.lifecycle.verdict import publish_verdict
from gitworker.model.ref_names import short_name
from gitworker.model.worker import WorkerEvent, WorkerState
from gitworker.paths import read_worktree_owner, write_worktree_owner
from gitworker.repo.checkout.move_branch import move_branch
from gitworker.repo.checkout.recover_move import recover_move
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.lock import hold
from gitworker.repo.plumbing.refs import create_ref, find_head_ref, find_ref
from gitworker.repo.rescue.rescue_refs import unpack
from gitworker.repo.rescue.trash import repair_trash, restore_admin, restore_from_trash
from gitworker.repo.worktrees.ownership import OwnershipClaim, find_named, require_owned
from gitworker.repo.worktrees.worktree_list import (
    check_out,
    find_admin_dir,
    find_checkout,
    is_half_made,
)
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import Operation, close_operation
from gitworker.store.payloads.payload import ApproveData, RemovalData
from gitworker.store.tasks import find_task
from gitworker.store.workers import (
    Worker,
    load_worker,
    set_review_state,
    set_worktree,
)
from gitworker.worktrees.populate.populate import populate_worktree
from gitworker.worktrees.removal import carry_out_locked, trash_of
from gitworker.worktrees.trashing import entry_name, find_entry, set_aside

FREEING = frozenset({"cancel", "reset"})


def finish_return(session: Session, operation: Operation, done: Operation) -> None:
    """Complete the undo of an approve or a removal; safe to repeat.

    If it is impossible, the finished steps are reverted, the operation is closed and the error is
    raised.
    """
    try:
        if done.kind == "approve":
            _undo_approve(session, operation, done)
        else:
            with hold(session.worktree_lock, name="worktree"):  # no spawn may take the worker now
                _undo_removal(session, operation, done)
    except BaseException:
        if not has_begun(session, done):
            with session.store.write() as writer:
                close(writer, operation, "rolled_back")
        raise
    publish_views(session, done.worker_id)


def has_begun(session: Session, done: Operation) -> bool:
    """Return whether any step of the undo of `done` has taken effect in git."""
    data = done.data
    if isinstance(data, ApproveData):
        return find_ref(session.git, data.ref) != data.new
    return find_ref(session.git, done.payload(RemovalData).ref) is not None


def require_branch(session: Session, done: Operation) -> None:
    """Raise Refused if the branch has moved since the operation: it has new work."""
    if has_begun(session, done):
        is_approve = done.kind == "approve"
        data = done.payload(ApproveData) if is_approve else done.payload(RemovalData)
        name = short_name(data.ref)
        raise Refused(
            f"the branch {name} has changed since; an undo would drop its new commits",
            f"git log {name}",
            code="branch_moved",
        )


def worker_refusal(worker: Worker, done: Operation) -> GitWorkerError | None:
    """Return why an operation on the worker can no longer be undone, or None."""
    return undo_refusal(
        done.kind,
        worker=worker.worker_id,
        state=worker.state,
        same_task=worker.task_id == done.task_id,
    )


def require_returnable(session: Session, done: Operation) -> None:
    """Raise Refused if an operation can no longer be undone: worker or task have changed."""
    with session.store.read() as reader:
        worker = load_worker(reader, done.worker_id)
        task = find_task(reader, done.task_id)
        claim = find_claim(reader, done.task_id)
    refusal = worker_refusal(worker, done)
    if refusal is None and done.kind in FREEING and task is not None:
        claimant = claim.holder if claim is not None and claim.is_valid else None
        holder = task.assigned_agent_id or claimant
        refusal = return_refusal(
            task.id, task.status, holder=None if holder == worker.worker_id else holder
        )
    if refusal is not None:
        raise refusal


def _undo_approve(session: Session, operation: Operation, done: Operation) -> None:
    _move_back(session, done)
    crash_point("undo.moved")
    with session.store.write() as writer:
        _withdraw(writer, done, actor=operation.actor)
        close(writer, done, "undone")
        close(writer, operation, "done")


def _undo_removal(session: Session, operation: Operation, done: Operation) -> None:
    repair_trash(trash_of(session, done), common_dir=session.repository.common_dir)
    try:
        require_returnable(session, done)
        done = bring_back(session, restored_from(done), done) or done
    except Refused:
        _take_again(session, done)
        raise
    crash_point("undo.restored")
    with session.store.write() as writer:
        _give_back(session, writer, done, actor=operation.actor)
        close(writer, done, "undone")
        close(writer, operation, "done")


def _take_again(session: Session, done: Operation) -> None:
    """Revert the steps of an undo that was refused in the middle."""
    data = done.payload(RemovalData)
    place = data.worktree
    admin_dir = place and find_admin_dir(session.repository.common_dir, place)
    owner = read_worktree_owner(admin_dir) if admin_dir else None
    if place and owner != (done.worker_id, done.task_id):  # it belongs to another worker now
        done = done._replace(data=data._replace(worktree=None))
    carry_out_locked(session, done)


def close(writer: Writer, operation: Operation, status: str) -> None:
    """Close an operation: done, undone or rolled back."""
    close_operation(
        writer, operation.id, status=status, step=operation.step, data=operation.data,
        now=clock.now_ms(),
    )  # fmt: skip


def _move_back(session: Session, done: Operation) -> None:
    data = done.payload(ApproveData)
    ref, old, new = data.ref, data.new, data.old
    if old == new:
        return
    place, admin_dir = data.worktree, data.admin_dir
    if data.worktree and not os.path.isdir(data.worktree):  # moved, or removed by hand
        found = find_checkout(session.git, ref)
        place, admin_dir = found if found and os.path.isdir(found) else None, None
    elif data.worktree:
        common_dir = session.repository.common_dir
        require_owned(
            OwnershipClaim(
                common_dir, data.worktree, data.admin_dir, ref, done.worker_id, done.task_id
            )
        )
    if not recover_move(
        session.git, ref=ref, old=old, new=new, worktree=place, admin_dir=admin_dir
    ):
        move_branch(session.git, ref=ref, old=old, new=new, worktree=place, admin_dir=admin_dir)


def restored_from(done: Operation) -> RestoredWorker:
    """Return the state of the worker before its removal."""
    data = done.payload(RemovalData)
    state, stale_from = data.state or WorkerState.WORKING, data.stale_from  # older rows: no state
    before = StateBefore(
        WorkerState(state), WorkerState(stale_from) if stale_from else None, data.error,
        data.returned_by, data.returned_detail,
    )  # fmt: skip
    return RestoredWorker(
        done.worker_id, done.task_id, data.ref, data.tip, data.base, data.place, before
    )


def bring_back(
    session: Session, restored: RestoredWorker, removal: Operation | None
) -> Operation | None:
    """Restore branch and worktree; return the removal, which records whether unpacking failed.

    The worktree is moved out of the trash. If it was deleted there, a new one is made, with the
    uncommitted work that a rescue ref kept but without ignored files. The caller holds the worktree
    lock. Raises Refused if the path is occupied.
    """
    place = restored.worktree
    entry = None
    if removal is not None:
        name = entry_name(removal.worker_id, removal.task_id, removal.id)
        entry = find_entry(trash_of(session, removal), name)
    is_lost = entry is not None and not os.path.lexists(entry.tree)
    is_back = is_lost and entry is not None and _names(place or "", entry.admin_dir)
    if entry is not None and place and os.path.lexists(place) and not is_back:
        raise path_exists(place)
    if restored.tip and find_ref(session.git, restored.ref) is None:
        create_ref(session.git, restored.ref, restored.tip, reason="gitworker: undo")
    if entry is not None and is_back:
        restore_admin(entry)  # its files were moved by hand, and are back at their place
    elif entry is not None and not is_lost:
        with suppress(NotFound):  # landed and clean: it is being deleted, and is made again below
            restore_from_trash(entry)
    if place and not _is_marked(session, place):
        _make_again(session, restored, place)
        crash_point("undo.made")
        if removal is not None:
            removal = _unpack(session, restored, removal)
    if place and not _is_ours(session, restored, place):
        raise path_exists(place)
    return removal


def _unpack(session: Session, restored: RestoredWorker, removal: Operation) -> Operation:
    """Unpack the uncommitted work into the new worktree; return the removal with the result."""
    data = removal.payload(RemovalData)
    if not data.rescued or restored.tip is None or restored.tip == data.rescued:
        return removal
    unpacked = unpack(session.git.at(restored.worktree or ""), data.rescued, tip=restored.tip)
    crash_point("undo.unpacked")
    return removal._replace(data=data._replace(unpacked=unpacked))


def _names(place: str, admin_dir: str) -> bool:
    """Return whether the `.git` file in a directory names this admin directory, existing or not."""
    return not os.path.lexists(admin_dir) and find_named(place) == os.path.realpath(admin_dir)


def _is_marked(session: Session, place: str) -> bool:
    """Return whether a place is a worktree with a worker's mark, which is written last."""
    admin_dir = find_admin_dir(session.repository.common_dir, place)
    return admin_dir is not None and read_worktree_owner(admin_dir) is not None


def _make_again(session: Session, restored: RestoredWorker, place: str) -> None:
    """Make a worktree for the branch; an incomplete one of a killed git is set aside."""
    admin_dir = find_admin_dir(session.repository.common_dir, place)
    if admin_dir is not None and is_half_made(admin_dir):
        for left in (admin_dir, place):
            set_aside(session, left, f"{restored.worker_id}-{restored.task_id}")
    if os.path.isdir(place):
        return
    workers = session.settings.checkout_workers
    branch = short_name(restored.ref)
    check_out(session.git, path=place, branch=branch, workers_setting=workers)
    with suppress(GitWorkerError, OSError):  # the user can populate it by hand
        populate_worktree(session, place, is_warm=False)


def path_exists(place: str) -> Refused:
    """Return the refusal for a path that something else occupies."""
    return Refused(
        f"{place} is in the way", f"mv {quoted(place)} {quoted(place)}.old", code="path_exists"
    )


def _is_ours(session: Session, restored: RestoredWorker, place: str) -> bool:
    """Return whether a place holds the worker's own worktree; if it does, set it up."""
    admin_dir = find_admin_dir(session.repository.common_dir, place)
    mark = None if admin_dir is None else read_worktree_owner(admin_dir)
    if admin_dir is None or mark not in (None, (restored.worker_id, restored.task_id)):
        return False
    git = session.git.at(place)
    # A worktree with the worker's mark was restored unchanged; the user may have switched branches.
    if mark is None and find_head_ref(git) not in (None, restored.ref):
        return False
    write_worktree_owner(admin_dir, restored.worker_id, restored.task_id)
    install(session.git, session.repository, git)
    return True


def _withdraw(writer: Writer, done: Operation, *, actor: str) -> None:
    worker = load_worker(writer, done.worker_id)
    data = done.payload(ApproveData)
    if is_approved(worker.state):
        advance(
            writer, worker, WorkerEvent.APPROVAL_WITHDRAWN, actor=actor,
            metadata={"reason": "undo"},
        )  # fmt: skip
        facts = {
            "verdict": "withdrawn",
            "reason": "the approval was undone; the review is open again",
        }
        publish_verdict(writer, worker, facts, sender=actor)
        publish(writer, _request_again(worker, data), now=clock.now_ms())
    set_review_state(writer, done.worker_id, "pending")
    record_tip(writer, data.ref, data.old)


def _request_again(worker: Worker, data: ApproveData) -> Outgoing:
    """Return the request for a review that an undone approval leaves open."""
    return Outgoing(
        "review_request",
        sender=worker.worker_id,
        correlation_id=worker.task_id,
        payload={"branch": worker.branch, "commit": data.old, "note": ""},
    )


def _give_back(session: Session, writer: Writer, done: Operation, *, actor: str) -> None:
    """Give the worker its task again; the undo of a removal changes no state."""
    restored = restored_from(done)
    if done.kind in FREEING:
        assign_again(session, writer, restored, actor=actor)
        publish_return(writer, done, actor=actor)
        return
    if restored.tip:
        record_tip(writer, restored.ref, restored.tip)
    set_worktree(
        writer, restored.worker_id, restored.worktree, admin_dir=admin_dir_of(session, restored)
    )
