"""Refuse to land a submodule commit that exists only in the worktree that made it."""

from gitworker.errors import Refused
from gitworker.model.ids import Oid
from gitworker.model.ref_names import BRANCHES
from gitworker.repo.status.embedded_repositories import may_have_submodules
from gitworker.repo.worktrees.ownership import OwnershipClaim, find_flaw
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.workers import Worker


def require_published(session: Session, worker: Worker, *, base: Oid, tip: Oid) -> None:
    """Raise Refused if `base..tip` points to a submodule commit that only the worktree has.

    Costs one read of the index if the worktree has no submodules.
    """
    admin, worktree = worker.admin_dir, worker.worktree
    if admin is None or worktree is None or not may_have_submodules(admin):
        return
    if find_flaw(OwnershipClaim(session.repository.common_dir, worktree, admin)) is not None:
        worktree = None  # its `.git` may lead to another worktree with other submodules
    from gitworker.repo.worktrees.submodules import unpublished_submodule_commits

    found = unpublished_submodule_commits(session.git, base, tip, worktree)
    if not found:
        return
    first = found[0]
    raise Refused(
        f"{worker.branch} points to a commit of the submodule {first.path} that exists only in"
        f" its worktree: {first.commit[:12]}",
        f"git -C {quoted(f'{worker.worktree}/{first.path}')} push origin"
        f" {first.commit[:12]}:{BRANCHES}<new-branch>",
        code="submodule_unpublished",
        detail="\n".join(f"{one.path} {one.commit}" for one in found),
    )
