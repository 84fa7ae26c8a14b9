"""Where worktrees are: rows follow what `git worktree move` did, by whoever it was run."""

import os

from gitworker.session import Session
from gitworker.store.workers import Worker


def follow_moves(session: Session, workers: list[Worker]) -> bool:
    """Correct the rows of worktrees that were moved: git keeps the new place in the admin dir.

    Tells whether there were any.
    """
    moved = False
    for worker in workers:
        if worker.worktree is None or worker.admin_dir is None or os.path.isdir(worker.worktree):
            continue
        place = _recorded_place(worker.admin_dir)
        if place is not None and place != worker.worktree and os.path.isdir(place):
            record_place(session, worker, place)
            moved = True
    return moved


def record_place(session: Session, worker: Worker, place: str) -> None:
    """Record where a worker's worktree is."""
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
