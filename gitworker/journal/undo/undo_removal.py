"""Undo a removal: restore branch and worktree and, after a cancel or a reset, the task."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from gitworker.bus.drain import record_tip
from gitworker.claims.leases import find_claim
from gitworker.crashpoint import crash_point
from gitworker.errors import Refused
from gitworker.journal.undo.reassign import (
    RestoredWorker,
    StateBefore,
    admin_dir_of,
    assign_again,
)
from gitworker.journal.undo.restore import branch_refusal, bring_back, worker_refusal
from gitworker.journal.undo.rules_undo import done_refusal, return_refusal
from gitworker.journal.undo.undoable import Undoable, close, closed_unless_begun
from gitworker.lifecycle.lost_task import publish_return
from gitworker.lifecycle.rules import FREE
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.worker import WorkerState
from gitworker.paths import read_worktree_owner
from gitworker.repo.plumbing.refs import find_ref
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.rescue.trash import repair_trash
from gitworker.repo.worktrees.worktree_list import find_admin_dir
from gitworker.session import Session
from gitworker.store.api import Reader, Writer
from gitworker.store.operations import Operation, find_last_operation
from gitworker.store.payloads.payload import RemovalData
from gitworker.store.tasks import find_task
from gitworker.store.workers import Worker, find_worker, load_worker, set_worktree
from gitworker.worktrees.removal import carry_out_locked, trash_of


def _require_same_worker(session: Session, done: Operation) -> None:
    """Raise Refused if the worker has continued."""
    with session.store.read() as reader:
        refusal = worker_refusal(load_worker(reader, done.worker_id), done)
    if refusal is not None:
        raise refusal


def require_free_task(session: Session, done: Operation) -> None:
    """Raise Refused if the worker has continued, or another one has its task."""
    _require_same_worker(session, done)
    with session.store.read() as reader:
        task = find_task(reader, done.task_id)
        claim = find_claim(reader, done.task_id)
    if task is None:
        return
    refusal = done_refusal(task.id, task.status)
    if refusal is not None:
        raise refusal
    holder = task.assigned_agent_id or (claim.holder if claim and claim.is_valid else None)
    refusal = return_refusal(
        task.id, task.status, holder=None if holder == done.worker_id else holder
    )
    if refusal is not None:
        raise refusal


def _require_no_branch(session: Session, done: Operation) -> None:
    if _has_begun(session, done):
        raise branch_refusal(done.payload(RemovalData).ref)


def _has_begun(session: Session, done: Operation) -> bool:
    has_branch = find_ref(session.git, done.payload(RemovalData).ref) is not None
    return has_branch and not _is_assigned_again(session, done)


def _is_assigned_again(session: Session, done: Operation) -> bool:
    """Return whether the worker has got its task again: branch and worktree are of that start."""
    with session.store.read() as reader:
        worker = find_worker(reader, done.worker_id)
    if worker is None or worker.task_id != done.task_id:
        return False
    return worker.state not in FREE


def _require_freed(session: Session, done: Operation) -> None:
    require_free_task(session, done)
    _require_no_branch(session, done)


def _require_removed(session: Session, done: Operation) -> None:
    _require_same_worker(session, done)
    _require_no_branch(session, done)


def _undo_freeing(session: Session, operation: Operation, done: Operation) -> None:
    with _restored(session, operation, done, require_free_task) as (writer, removal):
        assign_again(session, writer, restored_from(removal), actor=operation.actor)
        publish_return(writer, removal, actor=operation.actor)


def _undo_removal(session: Session, operation: Operation, done: Operation) -> None:
    with _restored(session, operation, done, _require_same_worker) as (writer, removal):
        restored = restored_from(removal)
        if restored.tip:
            record_tip(writer, restored.ref, restored.tip)
        set_worktree(
            writer, restored.worker_id, restored.worktree, admin_dir=admin_dir_of(session, restored)
        )


@contextmanager
def _restored(
    session: Session,
    operation: Operation,
    done: Operation,
    require: Callable[[Session, Operation], None],
) -> Iterator[tuple[Writer, Operation]]:
    """Restore branch and worktree, then give the transaction that records it."""
    begun = closed_unless_begun(session, operation, lambda: _has_begun(session, done))
    with begun, hold(session.worktree_lock, name="worktree"):  # no spawn may take the worker now
        repair_trash(trash_of(session, done), common_dir=session.repository.common_dir)
        try:
            require(session, done)
            removal = bring_back(session, restored_from(done), done) or done
        except Refused:
            _take_again(session, done)
            raise
        crash_point("undo.restored")
        with session.store.write() as writer:
            yield writer, removal
            close(writer, removal, "undone")
            close(writer, operation, "done")
    publish_views(session, done.worker_id)


def _take_again(session: Session, done: Operation) -> None:
    """Revert the steps of an undo that was refused in the middle."""
    if _is_assigned_again(session, done):
        return
    data = done.payload(RemovalData)
    place = data.worktree
    admin_dir = place and find_admin_dir(session.repository.common_dir, place)
    owner = read_worktree_owner(admin_dir) if admin_dir else None
    if place and owner != (done.worker_id, done.task_id):  # it belongs to another worker now
        done = done._replace(data=data._replace(worktree=None))
    carry_out_locked(session, done)


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


def _follows_landing(reader: Reader, removal: Operation) -> bool:
    """Return whether a removal is a part of a landing that was not undone."""
    landing = find_last_operation(reader, "merge", worker=removal.worker_id, task=removal.task_id)
    return landing is not None and landing.status == "done"


def _describe_freed(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    (done,), (worker,) = undone, workers
    return f"{done.task_id} is back with {done.worker_id}, which {worker.words}"


def _describe_removal(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    (done,), (worker,) = undone, workers
    return f"the worktree and the branch of {done.worker_id} are back; it {worker.words}"


FREEING = Undoable(_require_freed, _undo_freeing, _describe_freed)
REMOVAL = Undoable(
    _require_removed, _undo_removal, _describe_removal, needs_number=_follows_landing
)
