"""Carrying a journaled undo out, whatever it takes back.

What undoes a landing, a gc or an adoption is imported when there is one: every command that acts
passes here.
"""

from gitworker.journal.undo.restore import finish_return
from gitworker.session import Session
from gitworker.store.operations import Operation, find_operation
from gitworker.store.payloads.payload import UndoData


def finish_undo(session: Session, operation: Operation) -> None:
    """Carry an undo out to its end; repeating it does no harm.

    Raises what stands in the way; the journal is closed where nothing of it has taken effect.
    """
    with session.store.read() as reader:
        done = find_operation(reader, operation.payload(UndoData).undoes)
    assert done is not None
    if done.kind == "merge":
        from gitworker.journal.undo.undo_merge import finish_landing

        finish_landing(session, operation, done)
    elif done.kind == "gc":
        from gitworker.journal.undo.undo_gc import finish_gc_undo

        finish_gc_undo(session, operation, done)
    elif done.kind == "adopt":
        from gitworker.journal.undo.undo_adopt import finish_adopt_undo

        finish_adopt_undo(session, operation, done)
    else:
        finish_return(session, operation, done)
