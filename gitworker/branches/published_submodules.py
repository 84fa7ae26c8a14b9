"""Refuse submodule commits that exist only in one worktree, and nested repositories."""

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
    require_no_nested(session, worker, base=base, tip=tip)
    first = found[0]
    raise Refused(
        f"{worker.branch} points to a commit of the submodule {first.path} that exists only in"
        f" its worktree: {first.commit[:12]}",
        f"git -C {quoted(f'{worker.worktree}/{first.path}')} push origin"
        f" {first.commit[:12]}:{BRANCHES}<new-branch>",
        code="submodule_unpublished",
        detail="\n".join(f"{one.path} {one.commit}" for one in found),
    )


def require_no_nested(session: Session, worker: Worker, *, base: Oid, tip: Oid) -> None:
    """Raise Refused if the branch has a link to a repository that is no submodule of it.

    `git add` of a directory with a repository in it makes one; the files in it would not land.
    """
    admin, place = worker.admin_dir, worker.worktree
    if admin is None or place is None or not may_have_submodules(admin):
        return
    from gitworker.repo.worktrees.submodules import nested_repositories

    found = nested_repositories(session.git, base, tip)
    if not found:
        return
    path = quoted(found[0])
    raise Refused(
        f"{worker.branch} has only a link to the repository in {found[0]}, not its files",
        f"cd {quoted(place)} && git rm -q --cached {path} && echo {quoted(f'/{found[0]}/')}"
        f" >> .gitignore && git add .gitignore && git commit -m 'Leave the repository out'"
        f"   # or, for its files: git rm --cached {path}, delete {path}/.git, git add {path}",
        code="nested_repository",
        detail="\n".join(f"  {one}" for one in found),
    )
