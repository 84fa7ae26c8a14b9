"""Ringing up the radar: a detached look at what branches that moved conflict with.

What moved is a row, written with the tip it moved to: a radar that is killed leaves the row, and
the next drain rings again. Two radars at once settle it by the lock.
"""

import os
import sys
from collections.abc import Iterable

from gitworker import clock, proc
from gitworker.bus.jobs.rules_radar_job import is_watched, must_look
from gitworker.model.ids import Branch, Ref, ref_of
from gitworker.repo.plumbing.lock import is_held
from gitworker.session import Session
from gitworker.store.workers import Worker

LOCK_NAME = "radar"
_started: set[int] = set()  # radars of this process, which may live long and drain often


def ring_radar(session: Session, workers: Iterable[Worker]) -> bool:
    """Start a radar where it has something to look at and none runs; tell whether it did."""
    if not is_radar_due(session, workers) or is_held(lock_path(session)):
        return False
    _bury()
    command = [sys.executable, *proc.BACKGROUND, "radar", session.repository.common_dir]
    _started.add(proc.spawn_detached(command))
    return True


def is_radar_due(session: Session, workers: Iterable[Worker]) -> bool:
    """Tell whether a branch that matters has moved since the radar looked at it."""
    if not session.settings.radar_enabled:
        return False
    with session.store.read() as reader:
        due = [row["ref"] for row in reader.rows("tips.due", now=clock.now_ms())]
    return must_look(due, watched_branches(workers), target=session.target)


def watched_branches(workers: Iterable[Worker]) -> dict[Ref, Worker]:
    """Return the workers that the radar watches, by their branches."""
    return {
        ref_of(Branch(worker.branch)): worker
        for worker in workers
        if worker.branch and is_watched(worker.state)
    }


def lock_path(session: Session) -> str:
    """Return the lock file that a radar holds as long as it runs."""
    return f"{session.paths.locks}/{LOCK_NAME}"


def _bury() -> None:
    """Let go of radars that have ended: until somebody asks, they count as processes."""
    for pid in list(_started):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # a supervisor has asked already
            ended = pid
        if ended:
            _started.discard(pid)
