"""Files for people and other programs: a worker's state file, its review file, the logs.

They are views of the database, replaced atomically after each change. A crash leaves an older
version, which the next command renews.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from gitworker.bus.files.export import export_logs
from gitworker.bus.files.worker_files import review_view, state_view, write_views
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.errors import GitWorkerError, as_gitworker_error
from gitworker.notifications.start_job import start_notify_job
from gitworker.session import Session
from gitworker.store.messages.log_positions import TRANSITIONS
from gitworker.store.workers import unpublished_workers


def publish_views(session: Session, *names: str) -> None:
    """Renew the views of these workers and both logs, and wake followers.

    The operation itself is complete. If the files cannot be written now, the next command writes
    them or reports the reason.
    """
    with suppress(OSError, GitWorkerError):
        _publish(session, names)


def _publish(session: Session, names: Iterable[str]) -> None:
    write_views(session.store, session.paths, names)
    export_logs(session.store, session.paths)
    notify_followers(session.paths.bell)
    start_notify_job(session)


def expected_views(session: Session, name: str) -> dict[str, dict[str, Any] | None]:
    """Return the expected content of a worker's files by directory; None for no file."""
    with session.store.read() as reader:
        return {
            session.paths.workers: state_view(reader, name),
            session.paths.reviews: review_view(reader, name),
        }


def catch_up(session: Session) -> GitWorkerError | None:
    """Rewrite the views of workers whose last change was not published: its command was killed.

    Returns the error if they cannot be written.
    """
    with session.store.read() as reader:
        names = unpublished_workers(reader, TRANSITIONS)
    if names:
        try:
            _publish(session, names)
        except (OSError, GitWorkerError) as error:
            return as_gitworker_error(error)
    return None
