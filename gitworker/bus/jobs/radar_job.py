"""Start the radar, the background job that looks for conflicts with branches that moved.

Each moved ref is a row, written together with its new tip. A killed radar leaves the row, so the
next drain starts another radar. A lock keeps two radars apart.
"""

from collections.abc import Iterable

from gitworker import clock
from gitworker.bus.jobs.rules_radar_job import is_due, is_watched
from gitworker.model.ids import Ref
from gitworker.processes.jobs import start_job
from gitworker.repo.plumbing.repository_lock import is_held
from gitworker.session import Session
from gitworker.store.records.tips import due_refs
from gitworker.store.workers import Worker

LOCK_NAME = "radar"


def start_radar_job(session: Session, workers: Iterable[Worker]) -> bool:
    """Start a radar if one is due and none runs; return whether it was started."""
    if not is_radar_due(session, workers) or is_held(lock_path(session)):
        return False
    start_job("radar", session.repository.common_dir)
    return True


def is_radar_due(session: Session, workers: Iterable[Worker]) -> bool:
    """Return whether a watched branch or the target has moved since the last radar."""
    if not session.settings.radar_enabled:
        return False
    with session.store.read() as reader:
        due = due_refs(reader, clock.now_ms())
    watched = watched_branches(workers)
    return is_due(due, watched, targets=targets_of(session, watched.values()))


def targets_of(session: Session, workers: Iterable[Worker]) -> list[Ref]:
    """Return the target, then the branches of workstreams on which these workers' tasks land."""
    trunk = session.aimed_at(None).target
    return list(dict.fromkeys((trunk, *map(session.target_of, workers))))


def watched_branches(workers: Iterable[Worker]) -> dict[Ref, Worker]:
    """Return the workers that the radar watches, by their branches."""
    return {worker.ref: worker for worker in workers if worker.branch and is_watched(worker.state)}


def lock_path(session: Session) -> str:
    """Return the lock file that a running radar holds."""
    return f"{session.paths.locks}/{LOCK_NAME}"
