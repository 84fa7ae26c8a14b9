"""A waker that also drains the hooks' spool as soon as a hook has written to it."""

import os
from collections.abc import Callable

from gitworker.bus.drain import SPOOL_FILE, drain
from gitworker.bus.files.export import export_logs
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.errors import GitWorkerError
from gitworker.session import Session
from gitworker.store.api import Waker


def listen(session: Session, drains: Callable[[Session], object] = drain) -> Waker:
    """Return a waker for a session's bus, for the thread that opened the session.

    The listening process publishes a worker's commit by `drains`, without starting another process.
    The drain that the hook starts then finds nothing to do, or publishes if this failed.
    """
    return session.store.open_waker(on_spool=lambda: drain_spool(session, drains))


def drain_spool(session: Session, drains: Callable[[Session], object] = drain) -> None:
    """Drain now if a hook has written to the spool and no other drain has emptied it."""
    try:
        if os.path.exists(f"{session.paths.spool}/{SPOOL_FILE}"):
            drains(session)
            export_logs(session.store, session.paths)
            notify_followers(session.paths.bell)
    except (OSError, GitWorkerError):
        return
