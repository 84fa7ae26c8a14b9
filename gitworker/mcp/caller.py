"""The caller of a server: fixed when it starts, by its own environment and directory.

A server in a worker's worktree, or with that worker's GITWORKER_ID, acts for this worker as long as
it runs, even if the worktree is removed or given to another worker.
"""

from __future__ import annotations

import os

from gitworker.bus.caller.identity import caller_identity
from gitworker.model.ids import HQ
from gitworker.paths import read_worktree_owner, require_repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gitworker.progress import Event
    from gitworker.service import Service

DIRECTING = (HQ, "orchestrator")


class Caller:
    """An identity, and the directories from which its service opens the repository."""

    __slots__ = ("_common_dir", "_directory", "_environment", "identity", "is_worker")

    def __init__(self, directory: str | None, environment: Mapping[str, str]) -> None:
        repository = require_repository(directory, environment)
        self.identity = caller_identity(repository, None, environment)
        owner = read_worktree_owner(repository.git_dir) if repository.is_linked else None
        if owner is not None and self.identity in DIRECTING:
            self.identity = owner[0]
        self.is_worker = self.identity not in DIRECTING
        self._directory = repository.top or repository.common_dir
        self._common_dir = repository.common_dir
        named = ("GIT_DIR", "GIT_WORK_TREE")  # the repository is known now
        self._environment = {one: environment[one] for one in environment if one not in named}

    def to_json(self) -> dict[str, str]:
        """Return the caller for `restored`, without its environment."""
        return {
            "identity": self.identity,
            "directory": self._directory,
            "common_dir": self._common_dir,
        }

    @classmethod
    def restored(cls, data: Mapping[str, str], environment: Mapping[str, str]) -> Caller:
        """Return the caller of the server that has started this process, without a new decision."""
        caller = cls.__new__(cls)
        caller.identity = data["identity"]
        caller.is_worker = caller.identity not in DIRECTING
        caller._directory, caller._common_dir = data["directory"], data["common_dir"]
        caller._environment = dict(environment)
        return caller

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the environment of the calls, which names no repository."""
        return self._environment

    def service(self, report: Callable[[Event], None]) -> Service:
        """Return the service; in the main checkout if the directory does not exist any more."""
        from gitworker.service.service import open_repository  # 60 ms, for the first tool only

        directory = self._directory
        if not os.path.isdir(directory):
            directory = self._common_dir
        return open_repository(
            directory, identity=self.identity, environment=self._environment, progress=report
        )
