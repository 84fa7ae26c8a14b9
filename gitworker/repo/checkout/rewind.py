"""Take a branch back to an ancestor, together with its checkout, and keep all uncommitted work.

Only for a landing that just happened and on which no other work builds. The branch moves by
compare-and-set. The files follow as in `move_branch`: by a two-tree read-tree that refuses an
overlap, under git's own index lock, which survives this process and names the move.
"""

from gitworker.crashpoint import crash_point
from gitworker.errors import Refused
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import short_name
from gitworker.repo.checkout.move_branch import move_branch
from gitworker.repo.checkout.obstacles import refuse_overlap, require_quiet
from gitworker.repo.checkout.recover_move import recover_move
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.refs import move_ref
from gitworker.repo.status.checkout_status import read_status
from gitworker.repo.status.hidden_files import hidden_changes
from gitworker.repo.status.path_changes import changes_between, find_collisions
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.rules_text import quoted


def require_rewindable(git: Git, *, ref: Ref, old: Oid, new: Oid, worktree: str) -> None:
    """Raise Refused or Conflict if a checkout cannot follow its branch from `old` to `new`.

    Nothing changes. Obstacles are an open operation, git's index lock, uncommitted changes to the
    same files (also those hidden by index flags), untracked and ignored files.
    """
    here = git.at(worktree)
    require_quiet(here, ref, resuming=True)
    changes = changes_between(here, old, new)
    paths = {change.path for change in changes}
    status = read_status(here, untracked=False)
    if status.unmerged:  # git would refuse, but only after the branch has moved
        raise Refused(
            f"{worktree} has files in conflict",
            f"git -C {quoted(worktree)} status",
            code="unmerged",
        )
    refuse_overlap(
        worktree,
        dirty=paths & {*status.paths, *hidden_changes(here)},
        untracked=find_collisions(worktree, changes),
        coming=f"the files that {short_name(ref)} returns to",
    )


def rewind(git: Git, *, ref: Ref, old: Oid, new: Oid, worktree: str | None, reason: str) -> None:
    """Take a branch from `old` back to its ancestor `new`; finish one that was killed.

    `worktree` is its checkout. Raises Refused, with nothing changed, if something there is in the
    way; Conflict if the branch is at another commit or a git holds the index.
    """
    if recover_move(git, ref=ref, old=old, new=new, worktree=worktree):
        return
    if worktree is not None:
        require_rewindable(git, ref=ref, old=old, new=new, worktree=worktree)
        move_branch(git, ref=ref, old=old, new=new, worktree=worktree, reason=reason)
        return
    move_ref(git, ref, old=old, new=new, reason=reason)
    crash_point("rewind-ref")
    appeared = find_checkout(git, ref)
    if appeared is not None and not _index_is_at(git.at(appeared), new):
        # It was checked out between the check and the move: do it again through the checkout.
        move_ref(git, ref, old=new, new=old, reason=f"{reason} (taken back)")
        rewind(git, ref=ref, old=old, new=new, worktree=appeared, reason=reason)


def _index_is_at(here: Git, commit: Oid) -> bool:
    return here.run("diff-index", "--cached", "--quiet", commit, ok=(0, 1)).status == 0
