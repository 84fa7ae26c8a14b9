"""Where worktrees are: rows follow what `git worktree move` did, by whoever it was run."""

import os

from gitworker.errors import Refused
from gitworker.session import Session
from gitworker.store.workers import Worker, find_worker_of_task
from gitworker.workers.removal import occupants


def follow_moves(session: Session, workers: list[Worker]) -> None:
    """Correct the rows of worktrees that were moved: git keeps the new place in the admin dir."""
    for worker in workers:
        if worker.worktree is None or worker.admin_dir is None or os.path.isdir(worker.worktree):
            continue
        place = _recorded_place(worker.admin_dir)
        if place is not None and place != worker.worktree and os.path.isdir(place):
            _record(session, worker, place)


def make_room(session: Session, *, worker: str, task: str) -> str:
    """Return a free path for a task's new worktree.

    An older worktree of the same task is moved to `<task>@<its worker>`; where an agent lives in
    it, it stays and the new one becomes `<task>@<worker>`. Raises Refused where the path is
    taken by something else.
    """
    path = f"{session.worktree_root}/{task}"
    if not os.path.lexists(path):
        return path
    with session.store.read() as reader:
        older = find_worker_of_task(reader, task)
    if older is None or older.worktree != path:
        raise _taken(path)
    if occupants(older):
        path = f"{path}@{worker}"
        if os.path.lexists(path):
            raise _taken(path)
        return path
    aside = f"{path}@{older.worker_id}"
    if os.path.lexists(aside):
        raise _taken(aside)
    session.git.run("worktree", "move", "--", path, aside)
    _record(session, older, aside)
    return path


def _taken(path: str) -> Refused:
    return Refused(f"{path} is in the way", f"mv {path} {path}.old", code="path_exists")


def _record(session: Session, worker: Worker, place: str) -> None:
    with session.store.write() as writer:
        writer.run(
            "workers.set_worktree",
            worker=worker.worker_id,
            worktree=place,
            admin_dir=worker.admin_dir,
        )


def _recorded_place(admin_dir: str) -> str | None:
    try:
        with open(f"{admin_dir}/gitdir", encoding="utf-8", errors="surrogateescape") as file:
            pointer = file.readline().rstrip("\n")
    except OSError:
        return None
    return os.path.dirname(os.path.realpath(os.path.join(admin_dir, pointer)))
