"""Where worktrees are: rows follow what `git worktree move` did, by whoever it was run."""

import os
from contextlib import suppress

from gitworker.errors import GitWorkerError
from gitworker.paths import read_seat, regular
from gitworker.repo.plumbing.disk import write_atomically
from gitworker.session import Session
from gitworker.store.workers import Worker


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
        place = _recorded_place(admin_dir)
        if place is not None and not os.path.lexists(place):
            place = _find_moved(session, worker, place, admin_dir) or place
        here = (worker.worktree, worker.admin_dir)
        if place is not None and (place, admin_dir) != here and _leads_to(place, admin_dir):
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
    return here if read_seat(here) == (worker.worker_id, worker.task_id) else recorded


def _find_moved(session: Session, worker: Worker, old: str, admin_dir: str) -> str | None:
    """Return where a worktree was moved by `mv`, and let git know the place; None if not found.

    It is searched beside its old place, in the directory of worktrees, and in and beside the main
    checkout. The recorded inode excludes copies; two candidates count as none.
    """
    from gitworker.repo.worktrees.ownership import is_recorded_directory

    if read_seat(admin_dir) != (worker.worker_id, worker.task_id):
        return None
    top = session.main_top
    folders = {os.path.dirname(old), session.worktree_root, top, os.path.dirname(top)}
    found = {
        place
        for folder in folders
        for place in _directories_in(folder)
        if _leads_to(place, admin_dir) and is_recorded_directory(admin_dir, place) is not False
    }
    if len(found) != 1:
        return None
    place = found.pop()
    with suppress(OSError):  # as git itself does from time to time when it runs there
        write_atomically(f"{admin_dir}/gitdir", os.fsencode(f"{place}/.git\n"))
        return place
    return None


def _directories_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            inside = [one.path for one in entries if one.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [os.path.realpath(path) for path in inside]


def _leads_to(place: str, admin_dir: str) -> bool:
    """Tell whether a directory is the worktree of an admin directory, not a copy's or another's."""
    from gitworker.repo.worktrees.ownership import find_named  # only if a worktree was moved

    return os.path.isdir(place) and find_named(place) == os.path.realpath(admin_dir)


def _lead_hooks_here(session: Session, place: str) -> None:
    from gitworker.repo.hooks.install import install  # 5 ms, only where a repository was moved

    with suppress(GitWorkerError):  # `doctor` tells of hooks that do not fire
        install(session.git, session.repository, session.git.at(place))


def _recorded_place(admin_dir: str) -> str | None:
    try:
        with open(
            f"{admin_dir}/gitdir", encoding="utf-8", errors="surrogateescape", opener=regular
        ) as file:
            pointer = file.read().removesuffix("\n")  # git allows line feeds inside a path
        return os.path.dirname(os.path.realpath(os.path.join(admin_dir, pointer)))
    except (OSError, ValueError):  # garbage in one file stops nobody
        return None
