"""Taking a branch back to an ancestor, its checkout with it, without touching anybody's work.

Only for what was landed a moment ago and nothing stands on. The branch goes by compare-and-set; the
files follow as those of a worker's branch do (`repo/follow`): by a two-tree read-tree that refuses
overlap, under git's own lock of the index, which outlives us and says what is under way.
"""

from gitworker.crashpoint import crash_point
from gitworker.errors import Refused
from gitworker.model.ids import Oid, Ref
from gitworker.repo.checkout.move_branch import move_branch
from gitworker.repo.checkout.obstacles import refuse_overlap, require_quiet
from gitworker.repo.checkout.recover_move import recover_move
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.refs import move_ref
from gitworker.repo.status.checkout_status import changes_between, find_collisions, read_status
from gitworker.repo.status.hidden_files import hidden_changes
from gitworker.repo.worktrees.worktree_list import find_checkout


def require_room(git: Git, *, ref: Ref, old: Oid, new: Oid, worktree: str) -> None:
    """Raise Refused or Conflict where a checkout could not follow its branch from `old` to `new`.

    Nothing changes. In the way are an open operation, git's lock of the index, uncommitted changes
    to the same files, flags of the index that hide some, untracked and ignored files.
    """
    here = git.at(worktree)
    require_quiet(here, ref, resuming=True)
    changes = changes_between(here, old, new)
    paths = {change.path for change in changes}
    status = read_status(here, untracked=False)
    if status.unmerged:  # git moves nothing then, and says so only after the branch has moved
        raise Refused(
            f"{worktree} has files in conflict",
            f"git -C {worktree} status",
            code="unmerged",
        )
    refuse_overlap(
        worktree,
        dirty=paths & {*status.paths, *hidden_changes(here)},
        untracked=find_collisions(worktree, changes),
        coming=f"what comes back on {ref.removeprefix('refs/heads/')}",
    )


def rewind(git: Git, *, ref: Ref, old: Oid, new: Oid, worktree: str | None, reason: str) -> None:
    """Take a branch from `old` back to its ancestor `new`; a killed one is brought to its end.

    `worktree` is where it is checked out. Raises Refused, with nothing changed, where something
    there is in the way; Conflict where the branch is elsewhere or a git holds the index.
    """
    if recover_move(git, ref=ref, old=old, new=new, worktree=worktree):
        return
    if worktree is not None:
        require_room(git, ref=ref, old=old, new=new, worktree=worktree)
        move_branch(git, ref=ref, old=old, new=new, worktree=worktree, reason=reason)
        return
    move_ref(git, ref, old=old, new=new, reason=reason)
    crash_point("rewind-ref")
    appeared = find_checkout(git, ref)
    if appeared is not None and not _index_is_at(git.at(appeared), new):
        # It was checked out between the look and the move: do it over, through the checkout.
        move_ref(git, ref, old=new, new=old, reason=f"{reason} (taken back)")
        rewind(git, ref=ref, old=old, new=new, worktree=appeared, reason=reason)


def _index_is_at(here: Git, commit: Oid) -> bool:
    return here.run("diff-index", "--cached", "--quiet", commit, ok=(0, 1)).status == 0
