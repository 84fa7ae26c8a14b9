"""Start the job that sends notifications, after a command that has changed a state.

Without a target, a command reads the projects and imports no more.
"""

from __future__ import annotations

from contextlib import suppress

from gitworker.errors import GitWorkerError
from gitworker.processes.jobs import start_job
from gitworker.repo.plumbing.repository_lock import is_held
from gitworker.store.scheduling.projects import has_targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.session import Session

LOCK_NAME = "notify"
FINAL = "final"


def start_notify_job(session: Session, *, is_final: bool = False) -> bool:
    """Start the job if there is an event to send and no job runs; return whether it was started.

    `is_final`: a run has ended, so that its workers are left to a person. A failure is ignored.
    """
    with suppress(OSError, GitWorkerError):
        return _start(session, is_final=is_final)
    return False


def _start(session: Session, *, is_final: bool) -> bool:
    with session.store.read() as reader:
        if not session.settings.notify_urls and not has_targets(reader):
            return False
        from gitworker.notifications.events import (  # 10 ms, only with targets
            read_new_events,
            read_targets,
        )

        events = read_new_events(reader, read_targets(reader, session), is_final=is_final)
    if not events or not is_installed():
        return False
    if is_held(lock_path(session)) and not is_final:
        return False
    start_job("notify", session.repository.common_dir, *([FINAL] if is_final else []))
    return True


def is_installed() -> bool:
    """Return whether Apprise is installed."""
    from importlib.util import find_spec  # 2 ms, only with targets

    return find_spec("apprise") is not None


def lock_path(session: Session) -> str:
    """Return the lock file that a running job holds."""
    return f"{session.paths.locks}/{LOCK_NAME}"
