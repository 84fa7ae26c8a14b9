"""The outcome of a landing for each worker."""

from typing import NamedTuple

from gitworker.errors import GitWorkerError
from gitworker.model.ids import Oid


class LeftOut(NamedTuple):
    """Uncommitted files that were not approved or did not land, and the place that keeps them.

    It is a rescue ref if the worktree was removed, else the worktree itself.
    """

    files: tuple[str, ...]
    kept_in: str


class Landed(NamedTuple):
    """A landed worker: its commit on the target, and its worktree if it was kept, with the reason.

    `target` is the full name of the target branch. `left_out` are its uncommitted files.
    """

    worker_id: str
    task_id: str | None
    commit: Oid
    target: str
    kept: str | None
    kept_why: str | None
    left_out: LeftOut | None = None


class NotLanded(NamedTuple):
    """A worker that did not land, with the reason."""

    worker_id: str
    error: GitWorkerError
