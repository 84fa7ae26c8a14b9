"""Finishing or taking back a branch's move that was killed in the middle."""

import os

from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict
from gitworker.model.ids import Oid, Ref
from gitworker.paths import regular
from gitworker.repo.checkout.move_branch import (
    Move,
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
from gitworker.repo.status.checkout_status import Change, changes_between
from gitworker.repo.worktrees.ownership import require_checkout


def recover_move(
    git: Git, *, ref: Ref, old: Oid, new: Oid, worktree: str | None, admin_dir: str | None = None
) -> bool:
    """Bring a move that was killed at any point to an end; tell whether the branch is at `new`.

    False: it is (again) at `old` and nothing changed. Idempotent; a move that never began or has
    ended is left alone. An index lock that is not ours is never touched. Raises Conflict while the
    mover, or the git it started, still runs.
    """
    if worktree is None or not os.path.isdir(worktree):
        return _has_moved(git, ref=ref, old=old, new=new)
    if admin_dir is not None and not os.path.isdir(admin_dir):  # git has forgotten the worktree
        return _has_moved(git, ref=ref, old=old, new=new)
    admin_dir = require_checkout(git, worktree, admin_dir)
    move = Move(ref, old, new, worktree, admin_dir)
    here = git.at(worktree)
    descriptor = hold_journal(move)
    try:
        _require_own_lock(move)
        remove_file(f"{move.private_index}.lock")  # of a read-tree that died with its machine
        moved = _has_moved(here, ref=ref, old=old, new=new) and _settle(here, move)
        crash_point("recover-settled")
        remove_file(move.private_index)
        if is_ours(move.lock):
            os.unlink(move.lock)
        return moved
    finally:
        os.close(descriptor)


def take_back_checkout(git: Git, move: Move) -> None:
    """Bring index and files to `move.new`, where the branch is, from a checkout of `move.old`.

    git can have stopped at any point of the checkout: among the files, or after the index. Raises
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
    """Tell whether `commit` is in the history of `tip`; one that gc has taken is in none."""
    try:
        return is_ancestor(git, commit, tip)
    except GitFailed:
        if git.find_oid(commit) is None:
            return False
        raise


def find_unfinished(admin_dir: str) -> tuple[Ref, Oid, Oid] | None:
    """Return (ref, old, new) of a move whose lock was left in a worktree, read from the lock."""
    lock = f"{admin_dir}/index.lock"
    if not is_ours(lock):
        return None
    with open(lock, encoding="utf-8", opener=regular) as file:
        old, new, ref = file.read().splitlines()[1].split(" ", 2)
    return Ref(ref), Oid(old), Oid(new)


def _has_moved(git: Git, *, ref: Ref, old: Oid, new: Oid) -> bool:
    """Tell whether the branch was moved to `new`; an agent's own commit is no move of ours.

    Where `new` is an ancestor of `old` (`repo/rewind`), whatever still has `old` was not moved.
    """
    tip = find_ref(git, ref)
    if tip is None or tip == old or not contains(git, tip, new):
        return False
    return tip == new or not contains(git, tip, old) or not contains(git, old, new)


def _require_own_lock(move: Move) -> None:
    """Refuse to go on where the lock belongs to another move of ours."""
    if is_ours(move.lock):
        with open(move.lock, "rb", opener=regular) as file:
            if file.read() != move.marker:
                raise Conflict(
                    f"another interrupted move in {move.worktree} has to be repaired first",
                    "git worker doctor",
                    code="unfinished_move",
                )


def _settle(here: Git, move: Move) -> bool:
    """The branch has moved: make index and files follow, or take the branch back.

    The index says how far it came, since it changes last and at once. Whatever a killed move or
    an earlier recovery left beside it is made again.
    """
    changes = changes_between(here, move.old, move.new)
    if _has_new_index(here, move, changes):
        return True  # only the lock was left
    put_files_back(here, move)
    prepare_index(move)
    try:
        read_tree(here, old=move.old, new=move.new, index=move.private_index)
    except GitFailed as failure:
        if has_begun(failure.detail):
            put_files_back(here, move)
        move_ref(here, move.ref, old=move.new, new=move.old, reason="gitworker: taken back")
        return False
    os.replace(move.private_index, move.index)
    return True


def _has_new_index(here: Git, move: Move, changes: tuple[Change, ...]) -> bool:
    """Tell whether the worktree's index has left the old commit at every changed path."""
    differs = [
        here.run("diff-index", "--cached", "--name-only", "-z", "--no-renames", commit).text
        for commit in (move.new, move.old)
    ]
    from_new, from_old = (set(text.split("\0")) for text in differs)
    paths = {change.path for change in changes}
    return not from_new & paths or paths <= from_old
