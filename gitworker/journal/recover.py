"""Finish or roll back the operations that killed commands left open in the journal.

Operations run under the landing or the worktree lock. A process that holds the lock knows that an
open operation of its kind has no living owner, so no pid is ever examined. The result is the state
before the operation or the state after it, never one between. An operation that can be neither
finished nor rolled back now (because of a lock file that git left, or a worktree that git cannot
read) stays open. It blocks only commands on the same worker or task.
"""

from collections.abc import Callable
from contextlib import suppress

from gitworker.errors import UNREACHABLE, Conflict, Unavailable
from gitworker.journal.finish_landing import RECORDED
from gitworker.journal.operation_kinds import (
    FINISHED,
    KINDS,
    ROLLED_BACK,
    TARGET_MOVES,
    finish,
    finish_all,
    roll_back,
)
from gitworker.journal.settled import Settled, end_each
from gitworker.lifecycle.state_files import catch_up
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.session import Session
from gitworker.store.backend import bring_up_to_date
from gitworker.store.operations import Operation, find_operation, unfinished_operations


def recover_all(session: Session) -> Settled:
    """Finish or roll back every interrupted operation, and publish unpublished views.

    Never waits: while another command holds a lock, the open operations are its own. An operation
    that cannot be ended is returned in `left` and raises nothing.
    """
    from gitworker.worktrees.pool.half_made import drop_half_made  # 10 ms, only after a kill

    unpublished = catch_up(session)
    drop_half_made(session)
    with session.store.read() as reader:
        kinds = {operation.kind for operation in unfinished_operations(reader)}
    settled = Settled([], [], unpublished)
    if kinds & FINISHED:
        with suppress(Conflict), hold(session.landing_lock, name="landing", timeout_s=0):
            _add(settled, finish_interrupted(session))
    if kinds & ROLLED_BACK:
        with suppress(Conflict), hold(session.worktree_lock, name="worktree", timeout_s=0):
            _add(settled, finish_spawns(session))
    for name, kind in KINDS.items():
        if kind.finish_all and name in kinds:
            _add(settled, finish_all(session, name))
    return settled


def finish_interrupted(session: Session) -> Settled:
    """End interrupted operations that run under the landing lock, which the caller holds.

    One that cannot be ended now blocks only older ones of the same worker.
    """
    with session.store.read() as reader:
        pending = [o for o in unfinished_operations(reader) if o.kind in FINISHED]
    # Newest first, since the removal of a landing is a part of it. Landings are ended in the order
    # in which they are on the target, so that the tip published last is the target's.
    landings = [one for one in pending if one.kind in TARGET_MOVES]
    others = [one for one in reversed(pending) if one.kind not in TARGET_MOVES]
    return end_each(session, others + landings, _finish_one)


def finish_spawns(session: Session) -> Settled:
    """Roll interrupted spawns and adoptions back; the caller holds the worktree lock.

    In a fleet not before it was asked: it may have recorded one whose answer was lost.
    """
    if not _find_rolled_back(session):
        return end_each(session, [], roll_back)
    offline = bring_up_to_date(session.store)

    def end(session: Session, operation: Operation) -> None:
        if offline:
            raise Unavailable(offline, "git worker fleet status", code=UNREACHABLE)
        roll_back(session, operation)

    return end_each(session, _find_rolled_back(session), end)


def _find_rolled_back(session: Session) -> list[Operation]:
    """Return the open operations that are rolled back after a kill."""
    with session.store.read() as reader:
        return [one for one in unfinished_operations(reader) if one.kind in ROLLED_BACK]


def require_ended(session: Session, worker: str) -> None:
    """Raise Conflict if an operation on a worker is still open, after `finish_interrupted`."""
    _refuse_open(session, lambda one: one.kind in FINISHED and one.worker_id == worker)


def require_landed(session: Session) -> None:
    """Raise Conflict if a landing may have moved the target and is not recorded yet."""
    _refuse_open(session, lambda one: one.kind in TARGET_MOVES and one.step != RECORDED)


def require_rolled_back(session: Session, *, worker: str, task: str) -> None:
    """Raise Conflict if a spawn for a worker or a task is still open, after `finish_spawns`."""
    _refuse_open(
        session,
        lambda one: one.kind in ROLLED_BACK and (one.worker_id == worker or one.task_id == task),
    )


def _add(settled: Settled, more: Settled) -> None:
    settled.ended.extend(more.ended)
    settled.left.extend(more.left)


def _refuse_open(session: Session, concerns: Callable[[Operation], bool]) -> None:
    """Raise Conflict for the first open operation that concerns the caller (it holds the lock)."""
    with session.store.read() as reader:
        found = [one for one in unfinished_operations(reader) if concerns(one)]
    if found:
        raise Conflict(
            f"an interrupted {found[0].kind} of {found[0].worker_id} can be neither finished nor"
            " rolled back yet",
            "git worker recover   # it reports the reason",
            code="unfinished_act",
        )


def _finish_one(session: Session, operation: Operation) -> None:
    """Finish one operation; one that is refused for good is closed and raises nothing."""
    try:
        finish(session, operation)
    except Exception:
        with session.store.read() as reader:
            left = find_operation(reader, operation.id)
        if left is None or left.status == "open":
            raise
