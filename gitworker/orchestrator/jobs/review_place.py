"""The proof that handed-in work can be tested in its worker's worktree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import Refused
from gitworker.repo.worktrees.ownership import is_present, owner_of, read_head

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker


def require_review_place(session: Session, worker: Worker) -> str:
    """Return the worktree of a worker, proved, with the worker's branch checked out.

    Anywhere else the commands would run in another checkout, or test other commits. Raises Refused.
    """
    name = worker.worker_id
    owner = owner_of(session.repository.common_dir, worker)
    if owner is None or not is_present(owner):
        raise Refused(
            f"{name} has no worktree in which its work could be tested",
            code="no_worktree",
        )
    if read_head(session.git, owner) != owner.ref:
        raise Refused(
            f"the worktree of {name} has another branch than {worker.branch} checked out",
            code="other_branch",
        )
    return owner.place
