"""Undo an approve: move the branch back to the submitted commits, and open the review again."""

import os
from collections.abc import Sequence

from gitworker import clock
from gitworker.bus.drain import record_rewrite, record_tip
from gitworker.bus.publish import Outgoing, publish
from gitworker.crashpoint import crash_point
from gitworker.journal.undo.restore import branch_refusal, worker_refusal
from gitworker.journal.undo.undoable import Undoable, close, closed_unless_begun
from gitworker.lifecycle.moves import advance
from gitworker.lifecycle.rules import is_approved
from gitworker.lifecycle.state_files import publish_views
from gitworker.lifecycle.verdict import publish_verdict
from gitworker.model.ids import TaskId, WorkerId
from gitworker.model.worker import WorkerEvent
from gitworker.repo.checkout.move_branch import move_branch
from gitworker.repo.checkout.recover_move import recover_move
from gitworker.repo.plumbing.refs import find_ref
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.repo.worktrees.ownership import OwnershipClaim, require_owned
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import Operation, begin_undo
from gitworker.store.payloads.payload import ApproveData
from gitworker.store.workers import Worker, load_worker, set_review_state


def _require(session: Session, done: Operation) -> None:
    """Raise Refused if the worker has continued, or its branch has moved."""
    with session.store.read() as reader:
        refusal = worker_refusal(load_worker(reader, done.worker_id), done)
    if refusal is not None:
        raise refusal
    if _has_begun(session, done):
        raise branch_refusal(done.payload(ApproveData).ref)


def _has_begun(session: Session, done: Operation) -> bool:
    data = done.payload(ApproveData)
    return find_ref(session.git, data.ref) != data.new


def _begin(session: Session, done: Operation) -> Operation:
    data = done.payload(ApproveData)
    if data.old != data.new:
        rescue(  # this is a rewrite too: the commits that it replaces are kept
            session.git,
            worker=WorkerId(done.worker_id),
            task=TaskId(done.task_id),
            tip=data.new,
            worktree=None,
        )
    with session.store.write_own() as writer:
        record_rewrite(writer, data.ref, old=data.new, new=data.old)
        return begin_undo(writer, done, actor=session.actor, now=clock.now_ms())


def _carry_out(session: Session, operation: Operation, done: Operation) -> None:
    with closed_unless_begun(session, operation, lambda: _has_begun(session, done)):
        _move_back(session, done)
        crash_point("undo.moved")
        with session.store.write() as writer:
            _withdraw(writer, done, actor=operation.actor)
            close(writer, done, "undone")
            close(writer, operation, "done")
    publish_views(session, done.worker_id)


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


def _withdraw(writer: Writer, done: Operation, *, actor: str) -> None:
    worker = load_worker(writer, done.worker_id)
    data = done.payload(ApproveData)
    if worker.task_id != done.task_id:  # after a kill, another machine gave it its next task
        return
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


def _describe(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    (done,), (worker,) = undone, workers
    return f"the rebase and the approval of {done.worker_id} are undone; it {worker.words}"


APPROVAL = Undoable(_require, _carry_out, _describe, begin=_begin)
