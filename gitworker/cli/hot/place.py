"""Where a hot verb works: the repository, its store, who asks. No process is started for it."""

from __future__ import annotations

import os

from gitworker.bus.files.export import export_logs
from gitworker.bus.following.bell import ring_bell
from gitworker.bus.identity import task_here, who_asks
from gitworker.bus.limits.send_limits import Limits, limits_of, load_limits
from gitworker.cli.output import narrate
from gitworker.errors import GitWorkerError
from gitworker.paths import Repository, StatePaths, require_repository, state_paths
from gitworker.store.sqlite.migrate import open_database

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Store


class Place:
    """What a hot verb works with; `task` is the task of the worktree one stands in."""

    __slots__ = ("actor", "limits", "paths", "repository", "store", "task")

    def __init__(self, repository: Repository, store: Store, *, actor: str, limits: Limits) -> None:
        self.repository = repository
        self.store = store
        self.actor = actor
        self.limits = limits
        self.paths: StatePaths = state_paths(repository)
        self.task = task_here(repository)

    def tell(self) -> None:
        """Bring the log files up to date and ring the followers; what is sent is sent anyway."""
        try:
            export_logs(self.store, self.paths)
            ring_bell(self.paths.bell)
        except OSError as error:
            narrate(f"warning: cannot write {error.filename}: {error.strerror}")
        except GitWorkerError as error:
            narrate(f"warning: {error.message}")


def find_place(identity: str | None) -> Place | None:
    """Return the place one stands in; None where gitworker is not set up yet.

    Raises Unavailable outside a repository or where the database cannot be used, Invalid for an
    identity that is none.
    """
    repository = require_repository()
    paths = state_paths(repository)
    if not os.path.exists(paths.database):
        return None
    actor = who_asks(repository, identity, os.environ)
    limits = load_limits(paths, os.environ)
    return Place(repository, open_database(paths.database), actor=actor, limits=limits)


def place_of(session: Session) -> Place:
    """Return the place of a session that a full command has opened."""
    limits = limits_of(session.settings)
    return Place(session.repository, session.store, actor=session.actor, limits=limits)
