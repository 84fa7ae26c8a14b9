"""path: the worktree of a worker."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitworker.errors import NotFound
from gitworker.repo.worktrees.ownership import describe, find_flaw, owner_of
from gitworker.states.worker_machine import state_words

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker


@dataclass(frozen=True, slots=True)
class WorktreePath:
    """A worker and its directory; `flaw` is the reason why it may not be the worker's."""

    worker: str
    path: str
    flaw: str | None


def read_path(session: Session, worker: Worker) -> WorktreePath:
    """Return a worker's worktree; raise NotFound if it is not recorded or does not exist."""
    if worker.worktree is None:
        raise NotFound(
            f"worker {worker.worker_id} {state_words(worker.state)}, so it has no worktree",
            f"git worker show {worker.worker_id}",
        )
    if not os.path.isdir(worker.worktree):
        raise NotFound(
            f"the worktree of {worker.worker_id} does not exist: {worker.worktree}",
            "git worker doctor",
        )
    owner = owner_of(session.repository.common_dir, worker)
    flaw = owner and find_flaw(owner)
    problem = describe(owner, flaw) if owner and flaw else None
    return WorktreePath(worker.worker_id, worker.worktree, problem)


def json_path(found: WorktreePath) -> dict[str, Any]:
    """Return worker and path as JSON data."""
    return {"worker": found.worker, "path": found.path, "flaw": found.flaw}
