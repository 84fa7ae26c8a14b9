"""Make tasks READY whose dependencies are satisfied, and keep the logs up to date."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gitworker.bus.files.export import export_logs
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.bus.transitions import move_task
from gitworker.errors import GitWorkerError
from gitworker.model.ids import HQ
from gitworker.model.task import TaskEvent
from gitworker.store.tasks import require_stored_task, unblocked_tasks

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Writer

AT_ONCE = 100  # 50 ms or so: a longer transaction would delay other writers


def promote_ready(session: Session, limit: int = AT_ONCE) -> list[str]:
    """Make the first tasks of the queue READY that wait for nothing; return their ids.

    At most `limit` in one transaction; the next call continues. Writes nothing without such tasks.
    """
    with session.store.read() as reader:
        if not unblocked_tasks(reader, 1):
            return []
    with session.store.write() as writer:
        promoted = promote(writer, actor=HQ, limit=limit)
    publish_changes(session)
    return promoted


def promote(writer: Writer, *, actor: str, limit: int = AT_ONCE) -> list[str]:
    """Make tasks READY in the caller's transaction."""
    found = unblocked_tasks(writer, limit)
    for task in found:
        move_task(writer, require_stored_task(writer, task), (TaskEvent.DEPS_MET,), actor=actor)
    return found


def publish_changes(session: Session) -> None:
    """Update the log files after a change of tasks, and wake followers.

    The change itself is complete: if the files cannot be written now, the next command does it.
    """
    with suppress(OSError, GitWorkerError):
        export_logs(session.store, session.paths)
        notify_followers(session.paths.bell)
