"""Carry out a journaled gc, or the rest of a killed one."""

from gitworker import clock
from gitworker.crashpoint import crash_point
from gitworker.journal.gc.gc_disk import delete_logs, delete_trash, delete_verify
from gitworker.journal.gc.gc_refs import expire
from gitworker.session import Session
from gitworker.store.operations import Operation, close_operation
from gitworker.store.payloads.payload import GcData
from gitworker.worktrees.pool.keep_ready import empty_pool


def finish_gc(session: Session, operation: Operation) -> dict[str, str]:
    """Carry out a journaled gc and return the refs that it deleted; repeating it does no harm.

    A ref that was moved since is not deleted, and its name is removed from the record.
    """
    data = operation.payload(GcData)
    unlanded = data.refs if data.unlanded is None else data.unlanded
    refs = expire(session, data.refs, unlanded=unlanded)
    crash_point("gc.refs")
    delete_trash(session, data.entry_paths)
    delete_logs(session, data.logs)
    delete_verify(session, data.verify)
    if data.pool and session.settings.worktree_pool == 0:
        empty_pool(session)
    crash_point("gc.disk")
    with session.store.write_own() as writer:
        close_operation(
            writer, operation.id, status="done", step="collected",
            data=data._replace(refs=refs), now=clock.now_ms(),
        )  # fmt: skip
    return refs
