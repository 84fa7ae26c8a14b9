"""Looking through the worktrees that are about to go, while their commits are on the way.

git reads the status of every file, which is most of what a removal costs. What is written after the
look stays in the trash: the command that empties it checks again (`repo/trash`).
"""

import threading
from collections.abc import Sequence

from gitworker import clock
from gitworker.errors import GitWorkerError
from gitworker.lifecycle.rules import is_approved
from gitworker.repo.status.hidden_files import holds_work
from gitworker.repo.worktrees.ownership import has_worktree, owner_of
from gitworker.session import Session
from gitworker.store.workers import Worker

LOOKERS = 2
FRESH_MS = 1000  # an older look says nothing of what somebody is about to lose sight of


class PrefetchedChecks:
    """Threads that look for uncommitted and untracked files in some workers' worktrees."""

    def __init__(
        self, session: Session, workers: Sequence[Worker], *, is_calm: bool = False
    ) -> None:
        self._session = session
        self._is_calm = is_calm
        self._begun_ms = clock.monotonic_ms()
        self._workers = frozenset(worker.worker_id for worker in workers)
        self._left = list(reversed(workers))
        self._dirty: dict[str, bool] = {}
        self._threads = [
            threading.Thread(target=self._look, daemon=True)
            for _ in range(min(LOOKERS, len(workers)))
        ]
        for thread in self._threads:
            thread.start()

    def serves(self, workers: Sequence[Worker]) -> bool:
        """Return whether it was begun just now, at the worktrees of these workers."""
        is_fresh = clock.monotonic_ms() - self._begun_ms <= FRESH_MS
        return is_fresh and self._workers == {worker.worker_id for worker in workers}

    def results(self) -> dict[str, bool]:
        """Return the dirty workers, without those whose status git could not read."""
        for thread in self._threads:
            thread.join()
        return self._dirty

    def _look(self) -> None:
        while True:
            try:
                worker = self._left.pop()  # one of the two gets it
            except IndexError:
                return
            try:
                self._dirty[worker.worker_id] = is_dirty(
                    self._session, worker, is_calm=self._is_calm
                )
            except (GitWorkerError, OSError):  # the removal checks again
                continue


def look_early(session: Session, workers: Sequence[Worker]) -> PrefetchedChecks | None:
    """Begin to look while commits are replayed, where that takes no longer than a look is worth.

    None also if a worker is not approved, and so stays.
    """
    if len(workers) > LOOKERS or session.settings.verify_commands:
        return None
    if not all(is_approved(worker.state) for worker in workers):
        return None
    return PrefetchedChecks(session, workers, is_calm=True)


def is_dirty(session: Session, worker: Worker, *, is_calm: bool = False) -> bool:
    """Return whether the worktree holds anything untracked, or uncommitted, hidden or not.

    `is_calm` is as in `holds_work`.
    """
    owner = owner_of(session.repository.common_dir, worker)
    if owner is None or not has_worktree(owner):
        return False
    return holds_work(session.git.at(owner.place), is_calm=is_calm)
