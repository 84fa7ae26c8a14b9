"""Finishing or taking back a branch's move that was killed in the middle."""

import os

from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict
from gitworker.model.ids import Oid, Ref
from gitworker.repo.checks import Change, changes_between
from gitworker.repo.disk import copy_index
from gitworker.repo.follow import Move, hold_journal, is_ours, read_tree, remove_file
from gitworker.repo.git import Git, GitFailed
from gitworker.repo.halfway import GITLINK, entries, find_differing
from gitworker.repo.ownership import require_checkout
from gitworker.repo.refs import find_ref, is_ancestor, move_ref
from gitworker.repo.tracked_files import is_there, unlink_file


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
    with open(lock, encoding="utf-8") as file:
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
        with open(move.lock, "rb") as file:
            if file.read() != move.marker:
                raise Conflict(
                    f"another interrupted move in {move.worktree} has to be repaired first",
                    "git worker doctor",
                    code="unfinished_move",
                )


def _settle(here: Git, move: Move) -> bool:
    """The branch has moved: make index and files follow, or take the branch back."""
    changes = changes_between(here, move.old, move.new)
    if not changes or not _stands_at(here, move.index, move.old, changes):
        return True  # the new index is in place: only the lock was left
    if _stands_at(here, move.private_index, move.new, changes):
        os.replace(move.private_index, move.index)
        return True
    copy_index(move.index, move.private_index)
    try:
        read_tree(here, old=move.old, new=move.new, index=move.private_index)
    except GitFailed:
        return _settle_by_path(here, move, changes)
    os.replace(move.private_index, move.index)
    return True


def _stands_at(here: Git, index: str, commit: Oid, changes: tuple[Change, ...]) -> bool:
    """Tell whether an index file has a commit's entries at the changed paths."""
    if not os.path.isfile(index):
        return False
    out = here.run(
        "diff-index", "--cached", "--name-only", "-z", "--no-renames", commit,
        env={"GIT_INDEX_FILE": index},
    ).text  # fmt: skip
    return not set(out.split("\0")) & {change.path for change in changes}


def _settle_by_path(here: Git, move: Move, changes: tuple[Change, ...]) -> bool:
    """Look at each path: a file already moved stays, one not yet moved follows.

    Where nothing at all has moved, git's refusal stands and the branch goes back. A file that is
    neither old nor new is kept as it is and shows as modified: no byte is lost.
    """
    index = move.private_index
    copy_index(move.index, index)
    env = {"GIT_INDEX_FILE": index}
    wanted = {change.path: change for change in changes}
    differing = find_differing(here, index) & wanted.keys()
    untouched = {
        path
        for path, change in wanted.items()
        if path not in differing and (change.status != "A" or not _exists(move, path))
    }
    here.run("update-index", "-z", "--index-info", stdin=entries(changes), env=env)
    still = find_differing(here, index)
    arrived = {
        path
        for path, change in wanted.items()
        if path not in untouched and path not in still and change.status != "D"
    }
    gone = {path for path in wanted if not _exists(move, path) and path not in untouched}
    if not arrived and not gone:
        move_ref(here, move.ref, old=move.new, new=move.old, reason="gitworker: taken back")
        return False
    try:
        _bring(here, move, {path: wanted[path] for path in untouched | gone})
    except GitFailed:
        remove_file(index)  # it says that all has arrived: the next recovery would believe it
        raise
    here.run("update-index", "-q", "--refresh", env=env, ok=(0, 1))
    os.replace(index, move.index)
    return True


def _exists(move: Move, path: str) -> bool:
    return is_there(move.worktree, path)


def _bring(here: Git, move: Move, wanted: dict[str, Change]) -> None:
    """Give the files of `wanted` the state they have in the new commit."""
    for path, change in wanted.items():
        if change.status == "D" and change.old_mode != GITLINK and _exists(move, path):
            unlink_file(move.worktree, path)
    written = [path for path, change in wanted.items() if change.status != "D"]
    here.run(
        "checkout-index", "-f", "-u", "-z", "--stdin",
        stdin=b"".join(os.fsencode(path) + b"\0" for path in written),
        env={"GIT_INDEX_FILE": move.private_index},
    )  # fmt: skip
