"""Update the recorded paths of worktrees after `git worktree move` or `mv`."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError
from gitworker.paths import read_worktree_owner
from gitworker.session import Session
from gitworker.store.workers import Worker, set_worktree

if TYPE_CHECKING:
    from gitworker.repo.worktrees.ownership import OwnershipClaim


def follow_moves(session: Session, workers: list[Worker]) -> bool:
    """Correct the rows of moved worktrees; return whether there were any.

    git records the new path in the admin directory. If the whole repository was moved, the
    worktree's hooks are installed again: git ignores a hooks path that does not exist, and would
    then run neither our hooks nor the user's.
    """
    moved = False
    inside = f"{session.repository.common_dir}/"
    for worker in workers:
        if worker.worktree is None or worker.admin_dir is None:
            continue
        if os.path.isdir(worker.worktree) and (
            worker.admin_dir.startswith(inside) or os.path.isdir(worker.admin_dir)
        ):
            continue
        admin_dir = _admin_dir_now(session, worker, worker.admin_dir)
        place = _follow(session, worker, admin_dir)
        if place is not None and (place, admin_dir) != (worker.worktree, worker.admin_dir):
            record_place(session, worker, place, admin_dir=admin_dir)
            if admin_dir != worker.admin_dir:
                _reinstall_hooks(session, place)
            moved = True
    return moved


def record_place(
    session: Session, worker: Worker, place: str, *, admin_dir: str | None = None
) -> None:
    """Record the path of a worker's worktree, and its admin directory if that has changed."""
    with session.store.write() as writer:
        set_worktree(writer, worker.worker_id, place, admin_dir=admin_dir or worker.admin_dir)


def _admin_dir_now(session: Session, worker: Worker, recorded: str) -> str:
    """Return the worktree's admin directory; it moves with the repository and keeps its name."""
    if os.path.isdir(recorded):
        return recorded
    here = f"{session.repository.common_dir}/worktrees/{os.path.basename(recorded)}"
    return here if read_worktree_owner(here) == (worker.worker_id, worker.task_id) else recorded


def find_moved(session: Session, owner: "OwnershipClaim") -> str | None:
    """Return the one directory to which the owner's worktree was moved; None if not found.

    The search covers the path that git records and its siblings, the siblings of the old path, the
    root of the worktrees, and the main checkout with its siblings. The recorded inode excludes
    copies. Two candidates count as not found.
    """
    from gitworker.repo.worktrees.ownership import find_place  # only if a worktree was moved

    admin = owner.admin_dir
    if admin is None or not os.path.isdir(admin):
        return None
    if read_worktree_owner(admin) != (owner.worker_id, owner.task_id):
        return None
    old, known = os.path.realpath(owner.place), find_place(admin)
    if known is not None and known != old and _is_at(owner, known):
        return known
    top = session.main_top
    folders = {os.path.dirname(owner.place), session.worktree_root, top, os.path.dirname(top)}
    folders |= {os.path.dirname(known)} if known is not None else set()
    found = {place for one in folders for place in _directories_in(one) if _is_at(owner, place)}
    found.discard(old)
    return found.pop() if len(found) == 1 else None


def _directories_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            inside = [one.path for one in entries if one.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [os.path.realpath(path) for path in inside]


def _is_at(owner: "OwnershipClaim", place: str) -> bool:
    """Return whether a directory names the owner's admin directory and is not a copy."""
    from gitworker.repo.worktrees.ownership import find_named, is_recorded_directory

    admin = owner.admin_dir or ""
    return (
        os.path.isdir(place)
        and not os.path.islink(place)
        and find_named(place) == os.path.realpath(admin)
        and is_recorded_directory(admin, place) is not False
    )


def _follow(session: Session, worker: Worker, admin_dir: str) -> str | None:
    """Return the path that git records for a worktree, or to which `mv` moved it.

    The new path is written to git's record, as git does itself when it runs there.
    """
    from gitworker.repo.worktrees.ownership import find_named, find_place, owner_of

    place = find_place(admin_dir)
    owner = owner_of(session.repository.common_dir, worker)
    if place is None or owner is None:
        return None
    if not os.path.lexists(place):
        new = find_moved(session, owner._replace(admin_dir=admin_dir, place=place))
        if new is None:
            return None
        from gitworker.repo.plumbing.disk import write_atomically  # only if `mv` moved it

        with suppress(OSError):
            write_atomically(f"{admin_dir}/gitdir", os.fsencode(f"{new}/.git\n"))
            return new
        return None
    is_its = os.path.isdir(place) and find_named(place) == os.path.realpath(admin_dir)
    return place if is_its else None


def _reinstall_hooks(session: Session, place: str) -> None:
    from gitworker.repo.hooks.install import install  # 5 ms, only if a repository was moved

    with suppress(GitWorkerError):  # `doctor` reports hooks that do not fire
        install(session.git, session.repository, session.git.at(place))
