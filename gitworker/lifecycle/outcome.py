"""The result of landing one worker."""

from typing import NamedTuple

from gitworker.errors import GitWorkerError
from gitworker.model.ids import Oid
from gitworker.store.workers import Worker


class Landed(NamedTuple):
    """One landed worker: its tip on the target; a worktree that was kept, with the reason."""

    worker: Worker
    commit: Oid
    target: str
    kept: str | None
    kept_why: str | None


class NotLanded(NamedTuple):
    """One worker that did not land, with the reason."""

    worker_id: str
    error: GitWorkerError
