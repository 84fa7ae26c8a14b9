"""Check worktrees that are about to be deleted for changes, while their commits are landing.

git reads the status of every file, which takes most of the time of a removal. `merge` starts the
checks early; the landing collects them here. A file that is written after its check is kept in the
trash, since the command that empties the trash checks again (`repo/rescue/trash.py`).
"""

import threading
from collections.abc import Sequence

from gitworker import clock
from gitworker.errors import GitWorkerError
from gitworker.lifecycle.rules import is_approved, waits_for_review
from gitworker.repo.status.hidden_files import holds_work
from gitworker.repo.worktrees.ownership import has_worktree, owner_of
from gitworker.session import Session
from gitworker.store.workers import Worker

THREADS = 2
FRESH_MS = 1000  # an older check may have missed a user's new file


class PrefetchedChecks:
    """Threads that look for uncommitted and untracked files in some workers' worktrees."""

    def __init__(
        self, session: Session, workers: Sequence[Worker], *, is_calm: bool = False
    ) -> None:
        self._session = session
        self._is_calm = is_calm
        self._started_ms = clock.monotonic_ms()
        self._workers = frozenset(worker.worker_id for worker in workers)
        self._left = list(reversed(workers))
        self._dirty: dict[str, bool] = {}
        self._threads = [
            threading.Thread(target=self._check, daemon=True)
            for _ in range(min(THREADS, len(workers)))
        ]
        for thread in self._threads:
            thread.start()

    def covers(self, workers: Sequence[Worker]) -> bool:
        """Return whether this was started just now, for exactly these workers."""
        is_fresh = clock.monotonic_ms() - self._started_ms <= FRESH_MS
        return is_fresh and self._workers == {worker.worker_id for worker in workers}

    def is_clean(self, worker: Worker) -> bool:
        """Return whether a worker's worktree was found clean; wait for its check."""
        return self.results().get(worker.worker_id) is False

    def results(self) -> dict[str, bool]:
        """Return for each worker whether it is dirty, except if git could not read the status."""
        for thread in self._threads:
            thread.join()
        return self._dirty

    def _check(self) -> None:
        while True:
            try:
                worker = self._left.pop()  # only one of the threads gets it
            except IndexError:
                return
            try:
                self._dirty[worker.worker_id] = is_dirty(
                    self._session, worker, is_calm=self._is_calm
                )
            except (GitWorkerError, OSError):  # the removal checks again
                continue


_early: dict[str, PrefetchedChecks] = {}  # the last early checks of each repository


def start_early_checks(
    session: Session, workers: Sequence[Worker], *, in_review: bool = False
) -> PrefetchedChecks | None:
    """Check worktrees that will be deleted soon, while commits are replayed.

    Earlier checks of the same workers go on. Return None, with nothing started, for more workers
    than threads, before verify commands, and if a worker is not approved, so that its worktree
    stays. With `in_review`, this command approves workers that wait for their review.
    """
    if len(workers) > THREADS or session.settings.verify_commands:
        return None
    for worker in workers:
        is_waiting = in_review and waits_for_review(worker.state, worker.stale_from)
        if not (is_waiting or is_approved(worker.state)):
            return None
    early = _early.get(session.repository.common_dir)
    if early is None or not early.covers(workers):
        early = PrefetchedChecks(session, workers, is_calm=True)
        _early[session.repository.common_dir] = early
    return early


def forget_early_checks(session: Session) -> None:
    """Let the landing check again: the files of a worktree are about to change."""
    _early.pop(session.repository.common_dir, None)


def start_checks(session: Session, workers: Sequence[Worker]) -> PrefetchedChecks:
    """Start to check worktrees, or return the early checks if they cover the same workers."""
    early = _early.pop(session.repository.common_dir, None)
    if early is not None and early.covers(workers):
        return early
    return PrefetchedChecks(session, workers)


def is_dirty(session: Session, worker: Worker, *, is_calm: bool = False) -> bool:
    """Return whether the worktree has untracked files or uncommitted changes, even hidden ones.

    `is_calm` is as in `holds_work`.
    """
    owner = owner_of(session.repository.common_dir, worker)
    if owner is None or not has_worktree(owner):
        return False
    return holds_work(session.git.at(owner.place), is_calm=is_calm)
