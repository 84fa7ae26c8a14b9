"""Looking through the worktrees that are about to go, while the target moves.

git reads the status of every file, which is most of what a removal costs. What is written after the
look stays in the trash: whoever empties it looks again (`repo/trash`).
"""

import threading
from collections.abc import Sequence

from gitworker.errors import GitWorkerError
from gitworker.session import Session
from gitworker.store.workers import Worker
from gitworker.workers.removal import is_dirty

LOOKERS = 2


class Looks:
    """Threads that look for uncommitted and untracked files in some workers' worktrees."""

    def __init__(self, session: Session, workers: Sequence[Worker]) -> None:
        self._session = session
        self._left = list(reversed(workers))
        self._dirty: dict[str, bool] = {}
        self._threads = [
            threading.Thread(target=self._look, daemon=True)
            for _ in range(min(LOOKERS, len(workers)))
        ]
        for thread in self._threads:
            thread.start()

    def results(self) -> dict[str, bool]:
        """Return who is dirty; whoever git could not tell about is not in it."""
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
                self._dirty[worker.worker_id] = is_dirty(self._session, worker)
            except (GitWorkerError, OSError):  # whoever removes it looks again
                continue
