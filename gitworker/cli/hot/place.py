"""The context of a hot verb: the repository, its store, the caller. Starts no process."""

from __future__ import annotations

import os

from gitworker.bus.caller.identity import caller_identity, find_other_worker, find_worktree_task
from gitworker.bus.limits.send_limits import Limits, limits_of, load_limits
from gitworker.errors import GitWorkerError
from gitworker.paths import (
    Repository,
    StatePaths,
    refuse_second_bus,
    require_repository,
    state_paths,
)
from gitworker.store.backend import bring_up_to_date, open_hot_store, open_store, serve_fleet

# Non-empty: the verb runs again, because it changes what all machines of a fleet share.
WAITING: list[str] = []
# Non-empty: the repository is a machine of a fleet.
IN_FLEET: list[str] = []

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Store


class HotContext:
    """The context of a hot verb; `task` is the task of the current worktree.

    `other` is the worker of the current worktree if GITWORKER_ID names another agent.
    """

    __slots__ = ("actor", "limits", "other", "paths", "repository", "store", "task")

    def __init__(
        self,
        repository: Repository,
        store: Store,
        *,
        actor: str,
        limits: Limits,
        other: str | None = None,
    ) -> None:
        self.repository = repository
        self.store = store
        self.actor = actor
        self.other = other
        self.limits = limits
        self.paths: StatePaths = state_paths(repository)
        self.task = find_worktree_task(repository)

    def notify(self) -> None:
        """Update the log files and wake the followers; only warn of a failure."""
        from gitworker.bus.files.export import export_logs  # 2 ms; most hot verbs publish nothing
        from gitworker.bus.following.notify_followers import notify_followers
        from gitworker.cli.output import narrate

        try:
            export_logs(self.store, self.paths)
            notify_followers(self.paths.bell)
        except OSError as error:
            narrate(f"warning: cannot write {error.filename}: {error.strerror}")
        except GitWorkerError as error:
            narrate(f"warning: {error.message}")


def find_hot_context(identity: str | None, *, waits: bool = False) -> HotContext | None:
    """Return the context of the current directory; None if gitworker is not set up yet.

    Its store `waits` for the other machines of a fleet, or refuses to change what they share.

    Raises Unavailable outside a repository or for an unusable database, Invalid for an invalid
    identity.
    """
    repository = require_repository()
    paths = state_paths(repository)
    if not os.path.exists(paths.database):
        return None
    main_top, name = os.path.split(repository.common_dir)
    refuse_second_bus(paths.root, *{repository.top, main_top if name == ".git" else None})
    actor = caller_identity(repository, identity, os.environ)
    limits = load_limits(paths, os.environ)
    other = find_other_worker(repository, identity, os.environ)
    store: Store = (open_store if waits or WAITING else open_hot_store)(paths.database)
    if store.fleet_machine is not None:
        IN_FLEET.append(store.fleet_machine)
    if WAITING:
        bring_up_to_date(store)
    serve_fleet(store)
    return HotContext(repository, store, actor=actor, limits=limits, other=other)


def hot_context_of(session: Session) -> HotContext:
    """Return the context of an opened session."""
    limits = limits_of(session.settings)
    return HotContext(
        session.repository, session.store, actor=session.actor, limits=limits,
        other=session.other_worker,
    )  # fmt: skip
