"""The registry of operation kinds: how each is finished, rolled back and undone.

A new kind needs a class of data (`store.payloads`) and an entry here. The functions import the
modules that do the work when they are called, since a command needs one kind at most.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gitworker.journal.settled import Settled
from gitworker.model.ref_names import short_name
from gitworker.session import Session
from gitworker.store.operations import Operation, load_operation
from gitworker.store.payloads.payload import AdoptData, GcData, MergeData, UndoData
from gitworker.store.workers import Worker


class Kind(NamedTuple):
    """The functions for one kind of operation; None for one that it does not need.

    An interrupted operation is ended by one of the first three: `finish` for a caller that holds
    the landing lock, `roll_back` for one that holds the worktree lock, `finish_all` without either.
    An operation that is done is undone by the others: `require_undoable` raises if it cannot be,
    `undo` carries a journaled undo out and can be repeated, `describe_undo` names the restored
    work.
    """

    finish: Callable[[Session, Operation], object] | None = None
    roll_back: Callable[[Session, int], None] | None = None
    finish_all: Callable[[Session], Settled] | None = None
    require_undoable: Callable[[Session, Operation], None] | None = None
    undo: Callable[[Session, Operation, Operation], None] | None = None
    describe_undo: Callable[[Sequence[Operation], Sequence[Worker]], str] | None = None


def finish_undo(session: Session, operation: Operation) -> None:
    """Complete an undo; safe to repeat.

    Raises if something is in the way; the journal is closed if nothing of it has taken effect.
    """
    with session.store.read() as reader:
        done = load_operation(reader, operation.payload(UndoData).undoes)
    undo = KINDS[done.kind].undo
    assert undo is not None
    undo(session, operation, done)


def require_undoable(session: Session, done: Operation) -> None:
    """Raise if an operation cannot be undone now."""
    require = KINDS[done.kind].require_undoable
    assert require is not None
    require(session, done)


def describe_undo(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    """Return the message for an operation, or the landings of one window, that was undone."""
    describe = KINDS[undone[0].kind].describe_undo
    assert describe is not None
    return describe(undone, workers)


# ---------------------------------------------------------------------------- spawn, adopt, setup
def _roll_back_spawn(session: Session, operation_id: int) -> None:
    from gitworker.journal.rollback import roll_back_spawn

    roll_back_spawn(session, operation_id)


def _roll_back_adopt(session: Session, operation_id: int) -> None:
    from gitworker.journal.rollback_adopt import roll_back_adopt

    roll_back_adopt(session, operation_id)


def _require_untouched(session: Session, done: Operation) -> None:
    from gitworker.journal.undo.undo_adopt import require_untouched

    require_untouched(session, done)


def _undo_adopt(session: Session, operation: Operation, done: Operation) -> None:
    from gitworker.journal.undo.undo_adopt import finish_adopt_undo

    finish_adopt_undo(session, operation, done)


def _describe_adopt(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    (done,), (worker,) = undone, workers
    name = short_name(done.payload(AdoptData).old_ref)
    return f"{name} is no longer managed; {done.worker_id} is {worker.state}"


def _finish_setups(session: Session) -> Settled:
    from gitworker.worktrees.populate.setup_commands import finish_setups

    return Settled(finish_setups(session), [])


def _finish_syncs(session: Session) -> Settled:
    from gitworker.journal.begun_rebase import finish_syncs

    return finish_syncs(session)


# ---------------------------------------------------------------------------- approve, merge
def _finish_approve(session: Session, operation: Operation) -> None:
    from gitworker.journal.settle_rewrite import settle_approve

    settle_approve(session, operation)


def _finish_merge(session: Session, operation: Operation) -> None:
    from gitworker.journal.settle_rewrite import settle_merge

    settle_merge(session, operation)


def _require_window(session: Session, done: Operation) -> None:
    from gitworker.journal.undo.undo_window import read_window, window_refusal

    with session.store.read() as reader:
        window = read_window(reader, done)
    refusal = window_refusal(session, window)
    if refusal is not None:
        raise refusal


def _undo_merge(session: Session, operation: Operation, done: Operation) -> None:
    from gitworker.journal.undo.undo_merge import finish_landing

    finish_landing(session, operation, done)


def _describe_approve(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    (done,), (worker,) = undone, workers
    return f"the rebase and the approval of {done.worker_id} are undone; it is {worker.state}"


def _describe_merge(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    from gitworker.journal.undo.rules_undo import listed

    data = undone[0].payload(MergeData)
    states = listed([f"{worker.worker_id} is {worker.state}" for worker in workers])
    return f"{short_name(data.target_ref)} is back at {data.target_old[:12]}; {states}"


# ---------------------------------------------------------------------------- removals
def _finish_removal(session: Session, operation: Operation) -> None:
    from gitworker.worktrees.removal import finish_removal

    finish_removal(session, operation)


def _require_returnable(session: Session, done: Operation) -> None:
    from gitworker.journal.undo.restore import require_branch, require_returnable

    require_returnable(session, done)
    require_branch(session, done)


def _undo_return(session: Session, operation: Operation, done: Operation) -> None:
    from gitworker.journal.undo.restore import finish_return

    finish_return(session, operation, done)


def _describe_freed(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    (done,), (worker,) = undone, workers
    return f"{done.task_id} is back with {done.worker_id}, which is {worker.state}"


def _describe_removal(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    (done,), (worker,) = undone, workers
    return f"the worktree and the branch of {done.worker_id} are back; it is {worker.state}"


# ---------------------------------------------------------------------------- gc
def _finish_gc(session: Session, operation: Operation) -> None:
    from gitworker.journal.gc.gc_finish import finish_gc

    finish_gc(session, operation)


def _require_objects(session: Session, done: Operation) -> None:
    from gitworker.journal.undo.undo_gc import require_commits

    require_commits(session, done)


def _undo_gc(session: Session, operation: Operation, done: Operation) -> None:
    from gitworker.journal.undo.undo_gc import finish_gc_undo

    finish_gc_undo(session, operation, done)


def _describe_gc(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    number = len(undone[0].payload(GcData).refs)
    return f"{number} rescue refs are back; deleted files are not"


FREEING = Kind(
    finish=_finish_removal,
    require_undoable=_require_returnable,
    undo=_undo_return,
    describe_undo=_describe_freed,
)
KINDS: dict[str, Kind] = {
    "spawn": Kind(roll_back=_roll_back_spawn),
    "adopt": Kind(
        roll_back=_roll_back_adopt,
        require_undoable=_require_untouched,
        undo=_undo_adopt,
        describe_undo=_describe_adopt,
    ),
    "sync": Kind(finish_all=_finish_syncs),
    "setup": Kind(finish_all=_finish_setups),
    "approve": Kind(
        finish=_finish_approve,
        require_undoable=_require_returnable,
        undo=_undo_return,
        describe_undo=_describe_approve,
    ),
    "merge": Kind(
        finish=_finish_merge,
        require_undoable=_require_window,
        undo=_undo_merge,
        describe_undo=_describe_merge,
    ),
    "cancel": FREEING,
    "reset": FREEING,
    "remove": FREEING._replace(describe_undo=_describe_removal),
    "undo": Kind(finish=finish_undo),
    "gc": Kind(
        finish=_finish_gc,
        require_undoable=_require_objects,
        undo=_undo_gc,
        describe_undo=_describe_gc,
    ),
    "fsck": Kind(),  # it is recorded when it is done
}
FINISHED = frozenset(name for name, kind in KINDS.items() if kind.finish is not None)
ROLLED_BACK = frozenset(name for name, kind in KINDS.items() if kind.roll_back is not None)
UNDOABLE = frozenset(name for name, kind in KINDS.items() if kind.undo is not None)
