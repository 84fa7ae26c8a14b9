"""path: the worktree of a worker."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitworker.errors import NotFound
from gitworker.repo.worktrees.ownership import describe, find_flaw, owner_of, refusal_of
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
    from gitworker.store.workers import on_another_machine

    if worker.worktree is None:
        raise on_another_machine(worker) or NotFound(
            f"worker {worker.worker_id} {state_words(worker.state)}, so it has no worktree",
            f"git worker show {worker.worker_id}",
        )
    owner = owner_of(session.repository.common_dir, worker)
    flaw = owner and find_flaw(owner)
    if owner is not None and flaw is not None and not os.path.isdir(owner.place):
        refusal = refusal_of(owner, flaw)
        raise NotFound(refusal.message, refusal.hint, code=refusal.code)
    problem = describe(owner, flaw) if owner and flaw else None
    return WorktreePath(worker.worker_id, worker.worktree, problem)


def json_path(found: WorktreePath) -> dict[str, Any]:
    """Return worker and path as JSON data."""
    return {"worker": found.worker, "path": found.path, "flaw": found.flaw}
