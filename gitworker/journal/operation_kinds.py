"""The registry of operation kinds: how each is finished, rolled back and undone.

A new kind needs a class of data (`store.payloads`) and an entry here. The entries name functions as
`module:function` below `gitworker`, because a command needs those of one kind at most.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.journal.settled import Settled
from gitworker.store.operations import load_operation
from gitworker.store.payloads.payload import UndoData

if TYPE_CHECKING:
    from gitworker.journal.undo.undoable import Undoable
    from gitworker.session import Session
    from gitworker.store.operations import Operation


class Kind(NamedTuple):
    """The functions for one kind of operation; empty for one that it does not need.

    An interrupted operation is ended by one of the first three: `finish` for a caller that holds
    the landing lock, `roll_back` for one that holds the worktree lock, `finish_all` without either.
    `undo` names the `Undoable` of a kind that can be undone. `moves_target`: it is finished in the
    order of the target's commits. `is_rewrite`: it changes or deletes a branch that a user made.
    """

    finish: str = ""
    roll_back: str = ""
    finish_all: str = ""
    undo: str = ""
    moves_target: bool = False
    is_rewrite: bool = False


REMOVAL = Kind("worktrees.removal:finish_removal", is_rewrite=True)
FREEING = REMOVAL._replace(undo="journal.undo.undo_removal:FREEING")
KINDS: dict[str, Kind] = {
    "spawn": Kind(roll_back="journal.rollback:roll_back_spawn"),
    "adopt": Kind(
        roll_back="journal.rollback_adopt:roll_back_adopt", undo="journal.undo.undo_adopt:ADOPTION"
    ),
    "sync": Kind(finish_all="journal.begun_rebase:finish_syncs"),
    "setup": Kind(finish_all="journal.operation_kinds:finish_setups"),
    "approve": Kind(
        "journal.settle_rewrite:settle_approve", undo="journal.undo.undo_approve:APPROVAL",
        is_rewrite=True,
    ),
    "merge": Kind(
        "journal.settle_rewrite:settle_merge", undo="journal.undo.undo_merge:LANDING",
        moves_target=True, is_rewrite=True,
    ),
    "land": Kind(
        "journal.settle_workstream:settle_land", undo="journal.undo.undo_merge:LANDING",
        moves_target=True, is_rewrite=True,
    ),
    "cancel": FREEING,
    "reset": FREEING,
    "remove": REMOVAL._replace(undo="journal.undo.undo_removal:REMOVAL"),
    "undo": Kind("journal.operation_kinds:finish_undo"),
    "gc": Kind("journal.gc.gc_finish:finish_gc", undo="journal.undo.undo_gc:COLLECTION"),
    "fsck": Kind(),  # it is recorded when it is done
}  # fmt: skip
FINISHED = frozenset(name for name, kind in KINDS.items() if kind.finish)
ROLLED_BACK = frozenset(name for name, kind in KINDS.items() if kind.roll_back)
REWRITING = frozenset(name for name, kind in KINDS.items() if kind.is_rewrite)
TARGET_MOVES = frozenset(name for name, kind in KINDS.items() if kind.moves_target)
UNDOABLE = frozenset(name for name, kind in KINDS.items() if kind.undo)


def finish(session: Session, operation: Operation) -> None:
    """Finish an interrupted operation; the caller holds the landing lock."""
    load(KINDS[operation.kind].finish)(session, operation)


def roll_back(session: Session, operation: Operation) -> None:
    """Roll an interrupted operation back; the caller holds the worktree lock."""
    load(KINDS[operation.kind].roll_back)(session, operation.id)


def finish_all(session: Session, name: str) -> Settled:
    """Finish all interrupted operations of a kind that needs neither lock."""
    settled: Settled = load(KINDS[name].finish_all)(session)
    return settled


def finish_setups(session: Session) -> Settled:
    """Fail the workers whose setup was killed with its spawn."""
    from gitworker.worktrees.populate.setup_commands import finish_setups

    return Settled(finish_setups(session), [])


def finish_undo(session: Session, operation: Operation) -> None:
    """Complete an undo; safe to repeat.

    Raises if something is in the way; the journal is closed if nothing of it has taken effect.
    """
    with session.store.read() as reader:
        done = load_operation(reader, operation.payload(UndoData).undoes)
    undoable(done).carry_out(session, operation, done)


def undoable(done: Operation) -> Undoable:
    """Return the functions that undo an operation of a kind in UNDOABLE."""
    found: Undoable = load(KINDS[done.kind].undo)
    return found


def load(place: str) -> Any:
    """Return the function or the value that an entry names."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"gitworker.{module}"), name)
