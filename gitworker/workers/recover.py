"""Finishing or rolling back what a killed command left: the journal's open acts.

Acts run under the landing or the worktree lock. Whoever holds the lock knows that an open act of
its kind has no living owner, so nothing is ever guessed from a pid. The result is as before or
done, never between.
"""

from collections.abc import Callable
from contextlib import suppress

from gitworker import clock
from gitworker.errors import Conflict, GitWorkerError
from gitworker.model.ids import Oid, Ref
from gitworker.repo.lock import hold
from gitworker.repo.recovery import recover_move
from gitworker.repo.refs import find_ref, is_ancestor, read_refs
from gitworker.session import Session
from gitworker.states.engine import InvalidTransition
from gitworker.store.operations import (
    Operation,
    close_operation,
    find_operation,
    unfinished_operations,
)
from gitworker.store.workers import find_worker
from gitworker.workers.landed import RECORDED, Landing, clean_up, close_merges, finish_merge
from gitworker.workers.removal import discard, finish_removal
from gitworker.workers.restore import finish_undo
from gitworker.workers.rollback import roll_back_spawn
from gitworker.workers.verdict import finish_approval
from gitworker.workers.views import catch_up, publish_views


def recover_all(session: Session) -> list[Operation]:
    """Finish or roll back every interrupted act, and tell what was not told; return the acts.

    Never waits: where a lock is taken somebody is at work, and what is open is theirs.
    """
    catch_up(session)
    with session.store.read() as reader:
        kinds = {operation.kind for operation in unfinished_operations(reader)}
    finished: list[Operation] = []
    if kinds & FINISHERS.keys():
        with suppress(Conflict), hold(session.landing_lock, what="landing", timeout_s=0):
            finished += finish_interrupted(session)
    if "spawn" in kinds:
        with suppress(Conflict), hold(session.worktree_lock, what="worktree", timeout_s=0):
            finished += finish_spawns(session)
    return finished


def finish_interrupted(session: Session) -> list[Operation]:
    """Deal with interrupted acts of the landing kind; the caller holds the landing lock."""
    with session.store.read() as reader:
        pending = [o for o in unfinished_operations(reader) if o.kind in FINISHERS]
    for operation in reversed(pending):  # a landing's removal is inside the landing
        _finish_one(session, operation)
    return pending


def finish_spawns(session: Session) -> list[Operation]:
    """Roll interrupted spawns back; the caller holds the worktree lock."""
    with session.store.read() as reader:
        pending = [o for o in unfinished_operations(reader) if o.kind == "spawn"]
    for operation in pending:
        roll_back_spawn(session, operation.id)
    return pending


def roll_back(session: Session, operation_id: int) -> None:
    """Close an act whose git part did not happen (the mover has put everything back)."""
    with session.store.write() as writer:
        operation = find_operation(writer, operation_id)
        assert operation is not None
        close_operation(
            writer, operation.id, status="rolled_back", step=operation.step, data=operation.data,
            now=clock.now_ms(),
        )  # fmt: skip


def give_up(session: Session, operation_id: int) -> None:
    """End an act that failed; a move that was cut off in the middle (Ctrl-C) is settled first.

    Where that is not possible now the act stays open, for whoever comes next.
    """
    with session.store.read() as reader:
        operation = find_operation(reader, operation_id)
    assert operation is not None
    with suppress(GitWorkerError):
        settle_branch(session, operation)
        roll_back(session, operation_id)


def _finish_one(session: Session, operation: Operation) -> None:
    """Finish one act; an act that refuses for good is closed and stands in nobody's way."""
    try:
        FINISHERS[operation.kind](session, operation)
    except GitWorkerError:
        with session.store.read() as reader:
            left = find_operation(reader, operation.id)
        if left is None or left.status == "open":
            raise


def settle_branch(session: Session, operation: Operation) -> Oid | None:
    """Bring an interrupted move of a branch to its end and return where the branch is now."""
    data = operation.data
    ref = Ref(data["ref"])
    if data["old"] != data["new"]:
        recover_move(
            session.git,
            ref=ref,
            old=Oid(data["old"]),
            new=Oid(data["new"]),
            worktree=data["worktree"],
            admin_dir=data["admin_dir"],
        )
    return read_refs(session.git, [ref]).get(ref)


def _finish_approve(session: Session, operation: Operation) -> None:
    tip = settle_branch(session, operation)
    if tip is not None and is_ancestor(session.git, Oid(operation.data["new"]), tip):
        try:
            with session.store.write() as writer:
                finish_approval(writer, operation)
        except InvalidTransition:  # somebody rejected the work since: that stands
            roll_back(session, operation.id)
    else:
        roll_back(session, operation.id)


def _finish_merge(session: Session, operation: Operation) -> None:
    data = operation.data
    if operation.step != RECORDED:
        target = find_ref(session.git, Ref(data["target_ref"]))
        if target is None or not is_ancestor(session.git, Oid(data["new"]), target):
            roll_back(session, operation.id)
            return
        with session.store.write() as writer:
            finish_merge(writer, operation)
    with session.store.read() as reader:
        worker = find_worker(reader, operation.worker_id)
    if worker is not None and worker.task_id == operation.task_id:
        (cleaned,) = clean_up(session, [Landing(worker, data)])
        discard(session, [] if cleaned.discard is None else [cleaned.discard])
        publish_views(session, worker.worker_id)
    close_merges(session, [operation])


FINISHERS: dict[str, Callable[[Session, Operation], object]] = {
    "approve": _finish_approve,
    "merge": _finish_merge,
    "undo": finish_undo,
    "cancel": finish_removal,
    "reset": finish_removal,
    "remove": finish_removal,
}
