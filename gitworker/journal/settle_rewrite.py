"""End an interrupted approve or merge by the commits that git has: record it, or roll it back."""

from contextlib import suppress

from gitworker import clock
from gitworker.branches.replay_branch import drop_anchors
from gitworker.errors import Conflict
from gitworker.journal.finish_landing import (
    ANSWERED,
    PUSHED,
    PUSHING,
    RECORDED,
    LandedOperation,
    clean_up,
    close_merges,
    finish_merge,
)
from gitworker.lifecycle.state_files import publish_views
from gitworker.lifecycle.verdict import finish_approval
from gitworker.model.ids import Oid
from gitworker.model.ref_names import tracking_ref
from gitworker.repo.checkout.fastforward import fast_forward, settle_checkout
from gitworker.repo.checkout.recover_move import contains, recover_move
from gitworker.repo.plumbing.refs import find_ref, read_refs
from gitworker.repo.plumbing.repository_lock import descriptor_of
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.session import Session
from gitworker.states.engine import InvalidTransition
from gitworker.store.operations import (
    Operation,
    close_operation,
    landings_of_window,
    load_operation,
)
from gitworker.store.payloads.payload import ApproveData, MergeData
from gitworker.store.workers import find_worker
from gitworker.worktrees.removal import discard


def roll_back(session: Session, operation_id: int) -> None:
    """Close an operation that changed nothing in git: the move has put everything back.

    One that another command has ended meanwhile stays as it is.
    """
    with session.store.write_own() as writer:
        operation = load_operation(writer, operation_id)
        if operation.status != "open":
            return
        close_operation(
            writer, operation.id, status="rolled_back", step=operation.step, data=operation.data,
            now=clock.now_ms(),
        )  # fmt: skip
    drop_anchors(session, [operation])


def give_up(session: Session, operation_id: int) -> None:
    """End an approval that failed; a move that was interrupted (Ctrl-C) is settled first.

    If that is not possible now, or if it has brought the branch to its new commit, the operation
    stays open, and the next command settles it as after a kill.
    """
    with suppress(Exception):
        with session.store.read() as reader:
            operation = load_operation(reader, operation_id)
        data = operation.payload(ApproveData)
        tip = settle_branch(session, operation)
        if data.old == data.new or tip != data.new:
            roll_back(session, operation_id)


def settle_approve(session: Session, operation: Operation) -> None:
    """Record an interrupted approval if the branch has moved; else roll it back."""
    tip = settle_branch(session, operation)
    if not _holds_task(session, operation):
        roll_back(session, operation.id)
    elif tip is not None and contains(session.git, tip, operation.payload(ApproveData).new):
        try:
            with session.store.write() as writer:
                finish_approval(writer, operation)
        except InvalidTransition:  # the work was rejected since, which remains
            roll_back(session, operation.id)
    else:
        roll_back(session, operation.id)


def _holds_task(session: Session, operation: Operation) -> bool:
    """Return whether the worker still has the task of the operation."""
    with session.store.read() as reader:
        worker = find_worker(reader, operation.worker_id)
    return worker is not None and worker.task_id == operation.task_id


def settle_merge(session: Session, operation: Operation) -> None:
    """Record and clean up an interrupted landing if the target has it; else roll it back."""
    data = operation.payload(MergeData)
    if operation.step != RECORDED:
        if data.remote:
            follow_push(session, operation, data.remote)
        target = find_ref(session.git, data.target_ref)
        if target is None or not contains(session.git, target, data.new):
            put_checkout_back(session, operation)
            roll_back(session, operation.id)
            return
        if not _holds_task(session, operation):
            roll_back(session, operation.id)
            return
        try:
            with session.store.write() as writer:
                finish_merge(writer, operation)
        except InvalidTransition:  # it is recorded already, or the worker has FAILED since
            roll_back(session, operation.id)
            return
    with session.store.read() as reader:
        worker = find_worker(reader, operation.worker_id)
    if worker is not None and worker.task_id == operation.task_id:
        (cleaned,) = clean_up(session, [LandedOperation(worker, data)])
        discard(session, [] if cleaned.discard is None else [cleaned.discard])
        publish_views(session, worker.worker_id)
    close_merges(session, [operation])


def follow_push(session: Session, operation: Operation, remote: str) -> None:
    """Move the target to the commits that the remote took; raise Conflict if that is not known."""
    data = operation.payload(MergeData)
    if operation.step == PUSHING:
        raise Conflict(
            f"it is not known whether {remote} took the push of {operation.worker_id}",
            "git worker recover   # it asks the remote",
            code="push_unknown",
        )
    ref, new = data.target_ref, data.new
    kept = find_ref(session.git, tracking_ref(remote, ref))
    took = operation.step == PUSHED or (
        operation.step == ANSWERED and kept is not None and contains(session.git, kept, new)
    )
    target = find_ref(session.git, ref)
    if took and target is not None and not contains(session.git, target, new):
        put_checkout_back(session, operation)
        fast_forward(
            session.git,
            ref=ref,
            old=target,
            new=new,
            worktree=find_checkout(session.git, ref),
            reason=f"git worker merge {operation.worker_id}: {operation.task_id}",
            lock_fd=descriptor_of(session.landing_lock),
        )


def put_checkout_back(session: Session, operation: Operation) -> None:
    """Put back the files of the target's checkout that a killed git had already written.

    The whole window lands by one fast-forward, so git was writing the files of its last commit.
    """
    with session.store.read() as reader:
        new = landings_of_window(reader, operation)[-1].payload(MergeData).new
    if session.git.find_oid(new) is not None:
        settle_checkout(
            session.git,
            ref=operation.payload(MergeData).target_ref,
            new=new,
            since_ms=operation.created_at_ms,
        )


def settle_branch(session: Session, operation: Operation) -> Oid | None:
    """Finish or revert an interrupted move of a branch; return the branch's commit."""
    data = operation.payload(ApproveData)
    if data.old != data.new:
        recover_move(
            session.git, ref=data.ref, old=data.old, new=data.new,
            worktree=data.worktree, admin_dir=data.admin_dir,
        )  # fmt: skip
    return read_refs(session.git, [data.ref]).get(data.ref)
