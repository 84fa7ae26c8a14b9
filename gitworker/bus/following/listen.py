"""Listening: a waker that also drains the hooks' spool the moment a hook has written to it."""

import os

from gitworker.bus.drain import SPOOL_FILE, drain
from gitworker.bus.files.export import export_logs
from gitworker.bus.following.bell import ring_bell
from gitworker.bus.following.waking import Waker, open_waker
from gitworker.errors import GitWorkerError
from gitworker.session import Session


def listen(session: Session) -> Waker:
    """Return a waker for a session's bus, for the thread that opened the session.

    A commit in a worker's worktree is published by whoever listens, without the start of a process;
    the drain that the hook rings finds it done. What fails here, that drain does.
    """
    return open_waker(session.store, session.paths, on_spool=lambda: drain_spool(session))


def drain_spool(session: Session) -> None:
    """Drain at once where a hook has said something that no other drain has taken yet."""
    try:
        if os.path.exists(f"{session.paths.spool}/{SPOOL_FILE}"):
            drain(session)
            export_logs(session.store, session.paths)
            ring_bell(session.paths.bell)
    except (OSError, GitWorkerError):
        return
