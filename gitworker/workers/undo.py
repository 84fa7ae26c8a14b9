"""undo: takes back the newest approve's rebase, cancel, reset or removal.

It is journaled like every act; its own steps can each be repeated, so a killed undo is finished.
"""

from dataclasses import dataclass

from gitworker import clock
from gitworker.bus.drain import drain, record_rewrite
from gitworker.crashpoint import crash_point
from gitworker.errors import NotFound, Refused
from gitworker.model.ids import Oid, TaskId, WorkerId
from gitworker.repo.lock import hold
from gitworker.repo.rescue import rescue
from gitworker.session import Session
from gitworker.store.operations import (
    Operation,
    begin_operation,
    find_operation,
    undoable_operations,
)
from gitworker.store.workers import Worker, find_worker
from gitworker.workers.recover import finish_interrupted, require_ended
from gitworker.workers.restore import finish_undo, has_begun, require_returnable
from gitworker.workers.rules import may_undo


@dataclass(frozen=True, slots=True)
class Undone:
    """What was taken back, and how the worker stands now."""

    kind: str
    worker: Worker
    message: str


def undo(session: Session) -> Undone:
    """Take back the newest act that can be undone.

    Raises NotFound where there is none, Refused where the worker has moved on since.
    """
    with hold(session.landing_lock, what="landing"):
        finish_interrupted(session)
        drain(session)
        with session.store.read() as reader:
            found = undoable_operations(reader, limit=1)
            worker = find_worker(reader, found[0].worker_id) if found else None
        if not found or worker is None:
            raise NotFound("there is nothing to undo", "git worker log")
        done = found[0]
        refusal = may_undo(session.actor, done.actor, self_review=session.settings.review_self)
        if refusal is not None:
            raise refusal
        require_ended(session, done.worker_id)
        require_returnable(session, done)
        _check_branch(session, done)
        operation = _journal(session, done)
        crash_point("undo.journal")
        finish_undo(session, operation)
        with session.store.read() as reader:
            now_stands = find_worker(reader, done.worker_id)
    assert now_stands is not None
    return Undone(done.kind, now_stands, MESSAGES[done.kind].format(op=done, worker=now_stands))


MESSAGES = {
    "approve": "the rebase and the approval of {op.worker_id} are taken back; it is {worker.state}",
    "cancel": "{op.task_id} is back with {op.worker_id}, which is {worker.state}",
    "reset": "{op.task_id} is back with {op.worker_id}, which is {worker.state}",
    "remove": "the worktree and the branch of {op.worker_id} are back; it is {worker.state}",
}


def _journal(session: Session, done: Operation) -> Operation:
    if done.kind == "approve" and done.data["old"] != done.data["new"]:
        rescue(  # taking a rewrite back is a rewrite: what it replaces is kept
            session.git,
            worker=WorkerId(done.worker_id),
            task=TaskId(done.task_id),
            tip=Oid(done.data["new"]),
            worktree=None,
        )
    with session.store.write() as writer:
        if done.kind == "approve":
            record_rewrite(writer, done.data["ref"], old=done.data["new"], new=done.data["old"])
        number = begin_operation(
            writer, "undo", worker=done.worker_id, task=done.task_id, actor=session.actor,
            now=clock.now_ms(), data={"undoes": done.id},
        )  # fmt: skip
        operation = find_operation(writer, number)
    assert operation is not None
    return operation


def _check_branch(session: Session, done: Operation) -> None:
    """Refuse where the branch is not where the act left it: somebody built on it since."""
    if has_begun(session, done):
        name = done.data["ref"].removeprefix("refs/heads/")
        raise Refused(
            f"the branch {name} has changed since; undoing would drop that",
            f"git log {name}",
            code="branch_moved",
        )
