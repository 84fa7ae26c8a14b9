"""The functions by which operations of one kind are undone."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from gitworker import clock
from gitworker.session import Session
from gitworker.store.api import Reader, Writer
from gitworker.store.operations import Operation, begin_undo, close_operation, find_operation
from gitworker.store.workers import Worker


def begin(session: Session, done: Operation) -> Operation:
    """Write an undo to the journal."""
    with session.store.write_own() as writer:
        return begin_undo(writer, done, actor=session.actor, now=clock.now_ms())


class Undoable(NamedTuple):
    """The functions for the operations of one kind; those with a default suit most kinds.

    `require` raises if an operation cannot be undone now. `begin` writes the undo to the journal.
    `carry_out` completes an undo of the journal and can be repeated. `describe` names the restored
    work. `members` are the operations that are undone together; later ones of `own_kinds` are a
    part of the operation. `needs_number` are those that only `undo N` reverts, `is_settled` those
    that a user no longer wants to undo. `removal` is the one that put the uncommitted work away.
    """

    require: Callable[[Session, Operation], None]
    carry_out: Callable[[Session, Operation, Operation], None]
    describe: Callable[[Sequence[Operation], Sequence[Worker]], str]
    begin: Callable[[Session, Operation], Operation] = begin
    members: Callable[[Reader, Operation], tuple[Operation, ...]] = lambda _, done: (done,)
    own_kinds: frozenset[str] = frozenset()
    needs_number: Callable[[Reader, Operation], bool] = lambda _, __: False
    is_settled: Callable[[Reader, Operation], bool] = lambda _, __: False
    removal: Callable[[Reader, Operation], Operation | None] = lambda reader, done: find_operation(
        reader, done.id
    )


def close(writer: Writer, operation: Operation, status: str) -> None:
    """Close an operation: done, undone or rolled back."""
    close_operation(
        writer, operation.id, status=status, step=operation.step, data=operation.data,
        now=clock.now_ms(),
    )  # fmt: skip


@contextmanager
def closed_unless_begun(
    session: Session, operation: Operation, has_begun: Callable[[], bool]
) -> Iterator[None]:
    """Close an undo as rolled back if it fails before any step of it has taken effect in git."""
    try:
        yield
    except BaseException:
        if not has_begun():
            with session.store.write() as writer:
                close(writer, operation, "rolled_back")
        raise
