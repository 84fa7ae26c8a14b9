"""Keep the recorded places of worktrees: rows follow `git worktree move` and `mv`."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError
from gitworker.paths import read_worktree_owner
from gitworker.repo.plumbing.disk import write_atomically
from gitworker.session import Session
from gitworker.store.workers import Worker

if TYPE_CHECKING:
    from gitworker.repo.worktrees.ownership import OwnershipClaim


def follow_moves(session: Session, workers: list[Worker]) -> bool:
    """Correct the rows of worktrees that were moved: git keeps the new place in the admin dir.

    Where the whole repository was moved, the worktree's hooks are led to the new place as well:
    git passes over a hooks path that is not there, and the user's own hooks with it. Tells whether
    there were any.
    """
    moved = False
    for worker in workers:
        if worker.worktree is None or worker.admin_dir is None:
            continue
        if os.path.isdir(worker.worktree) and os.path.isdir(worker.admin_dir):
            continue
        admin_dir = _admin_dir_now(session, worker, worker.admin_dir)
        place = _follow(session, worker, admin_dir)
        if place is not None and (place, admin_dir) != (worker.worktree, worker.admin_dir):
            record_place(session, worker, place, admin_dir=admin_dir)
            if admin_dir != worker.admin_dir:
                _lead_hooks_here(session, place)
            moved = True
    return moved


def record_place(
    session: Session, worker: Worker, place: str, *, admin_dir: str | None = None
) -> None:
    """Record where a worker's worktree is, and its admin directory where that is another now."""
    with session.store.write() as writer:
        writer.run(
            "workers.set_worktree",
            worker=worker.worker_id,
            worktree=place,
            admin_dir=admin_dir or worker.admin_dir,
        )


def _admin_dir_now(session: Session, worker: Worker, recorded: str) -> str:
    """Return the worktree's admin directory: it moves with the repository, and keeps its name."""
    if os.path.isdir(recorded):
        return recorded
    here = f"{session.repository.common_dir}/worktrees/{os.path.basename(recorded)}"
    return here if read_worktree_owner(here) == (worker.worker_id, worker.task_id) else recorded


def find_moved(session: Session, owner: "OwnershipClaim") -> str | None:
    """Return the one directory to which the owner's worktree was moved; None if not found.

    It is at the place that git records, or beside it, beside its old place, in the directory of
    worktrees, or in or beside the main checkout. The recorded inode excludes copies; two
    candidates count as none.
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
    """Return whether a directory leads to the owner's admin directory and is no copy."""
    from gitworker.repo.worktrees.ownership import find_named, is_recorded_directory

    admin = owner.admin_dir or ""
    return (
        os.path.isdir(place)
        and not os.path.islink(place)
        and find_named(place) == os.path.realpath(admin)
        and is_recorded_directory(admin, place) is not False
    )


def _follow(session: Session, worker: Worker, admin_dir: str) -> str | None:
    """Return the place that git records for a worktree, or to which it was moved by `mv`.

    git learns of the move, as it does from time to time if it runs there.
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
        with suppress(OSError):
            write_atomically(f"{admin_dir}/gitdir", os.fsencode(f"{new}/.git\n"))
            return new
        return None
    is_its = os.path.isdir(place) and find_named(place) == os.path.realpath(admin_dir)
    return place if is_its else None


def _lead_hooks_here(session: Session, place: str) -> None:
    from gitworker.repo.hooks.install import install  # 5 ms, only where a repository was moved

    with suppress(GitWorkerError):  # `doctor` tells of hooks that do not fire
        install(session.git, session.repository, session.git.at(place))
