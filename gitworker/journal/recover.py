"""Finishing or rolling back what a killed command left: the journal's open acts.

Acts run under the landing or the worktree lock. Whoever holds the lock knows that an open act of
its kind has no living owner, so nothing is ever guessed from a pid. The result is as before or
done, never between. What can be neither now (a lock that somebody left, a worktree that git cannot
read) stays in the journal and stops only what touches the same worker or task; everybody else goes
on.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from gitworker import clock
from gitworker.branches.replay_branch import drop_anchors
from gitworker.errors import Conflict, GitWorkerError, error_of
from gitworker.journal.finish_landing import (
    ANSWERED,
    PUSHED,
    PUSHING,
    RECORDED,
    Landing,
    clean_up,
    close_merges,
    finish_merge,
)
from gitworker.journal.rollback import roll_back_spawn
from gitworker.journal.rollback_adopt import roll_back_adopt
from gitworker.journal.settled import Settled, Unfinished
from gitworker.journal.undo.takeback import finish_undo
from gitworker.lifecycle.rules import gives_seat
from gitworker.lifecycle.state_views import catch_up, publish_views
from gitworker.lifecycle.verdict import finish_approval
from gitworker.model.ids import Oid
from gitworker.repo.checkout.fastforward import fast_forward, settle_checkout
from gitworker.repo.checkout.recover_move import contains, recover_move
from gitworker.repo.plumbing.lock import descriptor_of, hold
from gitworker.repo.plumbing.refs import find_ref, read_refs, tracking_ref
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.session import Session
from gitworker.states.engine import InvalidTransition
from gitworker.store.operations import (
    Operation,
    close_operation,
    find_operation,
    unfinished_operations,
    window_of,
)
from gitworker.store.payloads.payload import ApproveData, MergeData
from gitworker.store.workers import find_worker
from gitworker.worktrees.pool.half_made import drop_half_made
from gitworker.worktrees.removal import discard, finish_removal


def recover_all(session: Session) -> Settled:
    """Finish or roll back every interrupted act, and tell what was not told.

    Never waits: where a lock is taken somebody is at work, and what is open is theirs. Raises
    nothing for an act that cannot be ended: it is returned among those left.
    """
    untold = catch_up(session)
    drop_half_made(session)
    with session.store.read() as reader:
        kinds = {operation.kind for operation in unfinished_operations(reader)}
    settled = Settled([], [], untold)
    if kinds & FINISHERS.keys():
        with suppress(Conflict), hold(session.landing_lock, what="landing", timeout_s=0):
            _add(settled, finish_interrupted(session))
    if any(gives_seat(kind) for kind in kinds):
        with suppress(Conflict), hold(session.worktree_lock, what="worktree", timeout_s=0):
            _add(settled, finish_spawns(session))
    if "sync" in kinds:
        _add(settled, _finish_syncs(session))
    if "setup" in kinds:
        from gitworker.worktrees.populate.setup_commands import (
            finish_setups,  # 5 ms, while one runs or after a kill
        )

        settled.ended.extend(finish_setups(session))
    return settled


def finish_interrupted(session: Session) -> Settled:
    """Deal with interrupted acts of the landing kind; the caller holds the landing lock.

    One that cannot be ended now stops no other, but for older ones of the same worker.
    """
    with session.store.read() as reader:
        pending = [o for o in unfinished_operations(reader) if o.kind in FINISHERS]
    # Newest first, since a landing's removal is inside the landing; landings as they stand on the
    # target, so that the tip that is told last is the target's.
    landings = [one for one in pending if one.kind == "merge"]
    others = [one for one in reversed(pending) if one.kind != "merge"]
    return _end_each(session, others + landings, _finish_one)


def finish_spawns(session: Session) -> Settled:
    """Roll interrupted spawns and adoptions back; the caller holds the worktree lock."""
    with session.store.read() as reader:
        pending = [o for o in unfinished_operations(reader) if gives_seat(o.kind)]
    return _end_each(session, pending, lambda _, one: ROLL_BACKS[one.kind](session, one.id))


def _finish_syncs(session: Session) -> Settled:
    """Take back every rebase that git could not begin, but those that are still running."""
    from gitworker.journal.begun_rebase import finish_sync  # 2 ms, while one runs or after a kill

    running: list[int] = []

    def end(_: Session, operation: Operation) -> None:
        if not finish_sync(session, operation):
            running.append(operation.id)

    with session.store.read() as reader:
        pending = [one for one in unfinished_operations(reader) if one.kind == "sync"]
    settled = _end_each(session, pending, end)
    ended = [one for one in settled.ended if one.id not in running]
    return settled._replace(ended=ended)


def require_ended(session: Session, worker: str) -> None:
    """Raise Conflict where an act on a worker is still open, after `finish_interrupted`."""
    _refuse_open(session, lambda one: one.kind in FINISHERS and one.worker_id == worker)


def require_landed(session: Session) -> None:
    """Raise Conflict where a landing may have moved the target and could not be recorded yet."""
    _refuse_open(session, lambda one: one.kind == "merge" and one.step != RECORDED)


def require_rolled_back(session: Session, *, worker: str, task: str) -> None:
    """Raise Conflict where a spawn for a worker or a task is still open, after `finish_spawns`."""
    _refuse_open(
        session,
        lambda one: gives_seat(one.kind) and (one.worker_id == worker or one.task_id == task),
    )


def roll_back(session: Session, operation_id: int) -> None:
    """Close an act whose git part did not happen (the mover has put everything back)."""
    with session.store.write() as writer:
        operation = find_operation(writer, operation_id)
        assert operation is not None
        close_operation(
            writer, operation.id, status="rolled_back", step=operation.step, data=operation.data,
            now=clock.now_ms(),
        )  # fmt: skip
    drop_anchors(session, [operation])


def give_up(session: Session, operation_id: int) -> None:
    """End an act that failed; a move that was cut off in the middle (Ctrl-C) is settled first.

    Where that is not possible now the act stays open, for whoever comes next.
    """
    with suppress(Exception):
        with session.store.read() as reader:
            operation = find_operation(reader, operation_id)
        assert operation is not None
        settle_branch(session, operation)
        roll_back(session, operation_id)


def _end_each(
    session: Session,
    pending: Sequence[Operation],
    end: Callable[[Session, Operation], object],
) -> Settled:
    settled = Settled([], [])
    held: dict[str, GitWorkerError] = {}
    for operation in pending:
        error = held.get(operation.worker_id)
        if error is None:
            try:
                end(session, operation)
            except Exception as failure:  # noqa: BLE001 - one act never stops everybody
                held[operation.worker_id] = error = error_of(failure)
        if error is None:
            settled.ended.append(operation)
        else:
            settled.left.append(Unfinished(operation, error))
    if settled.ended:  # an approval that is recorded only now changes the state files, too
        publish_views(session, *{operation.worker_id for operation in settled.ended})
    return settled


def _add(settled: Settled, more: Settled) -> None:
    settled.ended.extend(more.ended)
    settled.left.extend(more.left)


def _refuse_open(session: Session, concerns: Callable[[Operation], bool]) -> None:
    """Raise Conflict for the first open act that concerns the caller, who holds its kind's lock."""
    with session.store.read() as reader:
        found = [one for one in unfinished_operations(reader) if concerns(one)]
    if found:
        raise Conflict(
            f"an interrupted {found[0].kind} of {found[0].worker_id} can neither be finished nor"
            " taken back yet",
            "git worker recover   (it says what is in the way)",
            code="unfinished_act",
        )


def _finish_one(session: Session, operation: Operation) -> None:
    """Finish one act; an act that refuses for good is closed and stands in nobody's way."""
    try:
        FINISHERS[operation.kind](session, operation)
    except Exception:
        with session.store.read() as reader:
            left = find_operation(reader, operation.id)
        if left is None or left.status == "open":
            raise


def settle_branch(session: Session, operation: Operation) -> Oid | None:
    """Bring an interrupted move of a branch to its end and return where the branch is now."""
    data = operation.payload(ApproveData)
    if data.old != data.new:
        recover_move(
            session.git, ref=data.ref, old=data.old, new=data.new,
            worktree=data.worktree, admin_dir=data.admin_dir,
        )  # fmt: skip
    return read_refs(session.git, [data.ref]).get(data.ref)


def _finish_approve(session: Session, operation: Operation) -> None:
    tip = settle_branch(session, operation)
    if not _holds_task(session, operation):
        roll_back(session, operation.id)
    elif tip is not None and contains(session.git, tip, operation.payload(ApproveData).new):
        try:
            with session.store.write() as writer:
                finish_approval(writer, operation)
        except InvalidTransition:  # somebody rejected the work since: that stands
            roll_back(session, operation.id)
    else:
        roll_back(session, operation.id)


def _holds_task(session: Session, operation: Operation) -> bool:
    """Tell whether the worker is still on the task that the act was about."""
    with session.store.read() as reader:
        worker = find_worker(reader, operation.worker_id)
    return worker is not None and worker.task_id == operation.task_id


def _finish_merge(session: Session, operation: Operation) -> None:
    data = operation.payload(MergeData)
    if operation.step != RECORDED:
        if data.remote:
            _follow_push(session, operation, data.remote)
        target = find_ref(session.git, data.target_ref)
        if target is None or not contains(session.git, target, data.new):
            _put_checkout_back(session, operation)
            roll_back(session, operation.id)
            return
        if not _holds_task(session, operation):
            roll_back(session, operation.id)
            return
        try:
            with session.store.write() as writer:
                finish_merge(writer, operation)
        except InvalidTransition:  # it is recorded already, or somebody has failed it: that stands
            roll_back(session, operation.id)
            return
    with session.store.read() as reader:
        worker = find_worker(reader, operation.worker_id)
    if worker is not None and worker.task_id == operation.task_id:
        (cleaned,) = clean_up(session, [Landing(worker, data)])
        discard(session, [] if cleaned.discard is None else [cleaned.discard])
        publish_views(session, worker.worker_id)
    close_merges(session, [operation])


def _follow_push(session: Session, operation: Operation, remote: str) -> None:
    """Bring the target to what the remote took; raise Conflict where nobody knows if it did."""
    data = operation.payload(MergeData)
    if operation.step == PUSHING:
        raise Conflict(
            f"whether {remote} took the push of {operation.worker_id} is not known",
            "git worker recover   (it asks the remote)",
            code="push_unknown",
        )
    ref, new = data.target_ref, data.new
    kept = find_ref(session.git, tracking_ref(remote, ref))
    took = operation.step == PUSHED or (
        operation.step == ANSWERED and kept is not None and contains(session.git, kept, new)
    )
    target = find_ref(session.git, ref)
    if took and target is not None and not contains(session.git, target, new):
        _put_checkout_back(session, operation)
        fast_forward(
            session.git,
            ref=ref,
            old=target,
            new=new,
            worktree=find_checkout(session.git, ref),
            reason=f"git worker merge {operation.worker_id}: {operation.task_id}",
            lock_fd=descriptor_of(session.landing_lock),
        )


def _put_checkout_back(session: Session, operation: Operation) -> None:
    """Put back the files of the target's checkout that a killed git had moved already.

    The window went by one fast-forward to its last commit, so that is what git was writing.
    """
    with session.store.read() as reader:
        new = window_of(reader, operation)[-1].payload(MergeData).new
    if session.git.find_oid(new) is not None:
        settle_checkout(
            session.git,
            ref=operation.payload(MergeData).target_ref,
            new=new,
            since_ms=operation.created_at_ms,
        )


ROLL_BACKS: dict[str, Callable[[Session, int], None]] = {
    "spawn": roll_back_spawn,
    "adopt": roll_back_adopt,
}


def _finish_gc(session: Session, operation: Operation) -> None:
    from gitworker.journal.gc.gc_finish import finish_gc  # 5 ms, only after a killed gc

    finish_gc(session, operation)


FINISHERS: dict[str, Callable[[Session, Operation], object]] = {
    "approve": _finish_approve,
    "merge": _finish_merge,
    "undo": finish_undo,
    "cancel": finish_removal,
    "reset": finish_removal,
    "remove": finish_removal,
    "gc": _finish_gc,
}
