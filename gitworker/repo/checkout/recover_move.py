"""Finish or take back a branch's move that was killed in the middle."""

import os

from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict
from gitworker.model.ids import Oid, Ref
from gitworker.paths import open_regular
from gitworker.repo.checkout.move_branch import (
    BranchMove,
    hold_journal,
    is_ours,
    prepare_index,
    put_files_back,
    read_tree,
    remove_file,
)
from gitworker.repo.checkout.partial_checkout import has_begun
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.refs import find_ref, is_ancestor, move_ref
from gitworker.repo.status.path_changes import Change, changes_between
from gitworker.repo.worktrees.ownership import require_checkout


def recover_move(
    git: Git, *, ref: Ref, old: Oid, new: Oid, worktree: str | None, admin_dir: str | None = None
) -> bool:
    """Finish or take back a move that was killed; return whether the branch is at `new`.

    False: the branch is (again) at `old` and nothing changed. Idempotent; a move that never began
    or has ended is left alone. An index lock of another program is never touched. Raises Conflict
    while the mover, or the git that it started, is alive.
    """
    if worktree is None or not os.path.isdir(worktree):
        return _has_moved(git, ref=ref, old=old, new=new)
    if admin_dir is not None and not os.path.isdir(admin_dir):  # git has forgotten the worktree
        return _has_moved(git, ref=ref, old=old, new=new)
    admin_dir = require_checkout(git, worktree, admin_dir)
    move = BranchMove(ref, old, new, worktree, admin_dir)
    here = git.at(worktree)
    descriptor = hold_journal(move)
    try:
        _require_own_lock(move)
        remove_file(f"{move.private_index}.lock")  # left by a read-tree that died with its machine
        moved = _has_moved(here, ref=ref, old=old, new=new) and _settle(
            here.holding(descriptor), move
        )
        crash_point("recover-settled")
        remove_file(move.private_index)
        if is_ours(move.lock):
            os.unlink(move.lock)
        return moved
    finally:
        os.close(descriptor)


def take_back_checkout(git: Git, move: BranchMove) -> None:
    """Bring index and files from `move.old` to `move.new`, the commit of the branch.

    git may have stopped at any point of the checkout: between the files, or after the index. Raises
    Conflict if a file cannot be written.
    """
    descriptor = hold_journal(move)
    try:
        put_files_back(git.at(move.worktree), move)
    finally:
        os.close(descriptor)
    recover_move(
        git, ref=move.ref, old=move.old, new=move.new, worktree=move.worktree,
        admin_dir=move.admin_dir,
    )  # fmt: skip


def contains(git: Git, tip: Oid, commit: Oid) -> bool:
    """Return whether `commit` is in the history of `tip`; False if gc has deleted the commit."""
    try:
        return is_ancestor(git, commit, tip)
    except GitFailed:
        if git.find_oid(commit) is None:
            return False
        raise


def find_unfinished(admin_dir: str) -> tuple[Ref, Oid, Oid] | None:
    """Return (ref, old, new) of an unfinished move, read from the lock that it left."""
    lock = f"{admin_dir}/index.lock"
    if not is_ours(lock):
        return None
    with open(lock, encoding="utf-8", opener=open_regular) as file:
        old, new, ref = file.read().splitlines()[1].split(" ", 2)
    return Ref(ref), Oid(old), Oid(new)


def _has_moved(git: Git, *, ref: Ref, old: Oid, new: Oid) -> bool:
    """Return whether the branch was moved to `new`; an agent's own commit is not such a move.

    If `new` is an ancestor of `old` (`rewind`), a branch that still contains `old` was not moved.
    """
    tip = find_ref(git, ref)
    if tip is None or tip == old or not contains(git, tip, new):
        return False
    return tip == new or not contains(git, tip, old) or not contains(git, old, new)


def _require_own_lock(move: BranchMove) -> None:
    """Raise Conflict if the lock belongs to another unfinished move."""
    if is_ours(move.lock):
        with open(move.lock, "rb", opener=open_regular) as file:
            if file.read() != move.marker:
                raise Conflict(
                    f"another interrupted move in {move.worktree} must be repaired first",
                    "git worker doctor",
                    code="unfinished_move",
                )


def _settle(here: Git, move: BranchMove) -> bool:
    """Make index and files follow a branch that has moved, or take the branch back.

    The index changes last and atomically, so it shows how far the move came. Files of a killed move
    or an earlier recovery are made again.
    """
    changes = changes_between(here, move.old, move.new)
    if _has_new_index(here, move, changes):
        return True  # only the lock is left to remove
    put_files_back(here, move)
    prepare_index(move)
    try:
        read_tree(here, old=move.old, new=move.new, index=move.private_index)
    except GitFailed as failure:
        if has_begun(failure.detail):
            put_files_back(here, move)
        move_ref(here, move.ref, old=move.new, new=move.old, reason="gitworker: taken back")
        return False
    os.replace(move.private_index, move.index_file)
    return True


def _has_new_index(here: Git, move: BranchMove, changes: tuple[Change, ...]) -> bool:
    """Return whether the worktree's index is at the new commit at every changed path.

    After the end of the lock other changes may have been staged there.
    """
    differs = [
        here.run("diff-index", "--cached", "--name-only", "-z", "--no-renames", commit).text
        for commit in (move.new, move.old)
    ]
    from_new, from_old = (set(text.split("\0")) for text in differs)
    paths = {change.path for change in changes}
    return not from_new & paths or (paths <= from_old and not is_ours(move.lock))
