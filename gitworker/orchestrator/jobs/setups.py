"""The setups of new worktrees in a run, beside each other; the agent of each starts afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError
from gitworker.lifecycle.rules import has_failed_setup
from gitworker.worktrees.populate.populate import begin_repeated_setup, forget_failed_setup
from gitworker.worktrees.populate.setup_commands import SetupRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitworker.orchestrator.rules_next import Action
    from gitworker.session import Session
    from gitworker.store.workers import Worker


class Setups:
    """The setups that a run has started; the journal names them for other commands."""

    __slots__ = ("_running", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._running: list[SetupRun] = []

    @property
    def running(self) -> tuple[SetupRun, ...]:
        """Return the setups whose end has not been taken."""
        return tuple(self._running)

    def comes_first(self, action: Action, worker: Worker | None) -> bool:
        """Return whether a setup comes before a start: of a new worktree, or because it failed."""
        has_failed = worker is not None and has_failed_setup(worker.state, worker.last_error)
        return bool(self._session.settings.worktree_setup) and (action.is_new or has_failed)

    def begin(self, worker: Worker, operation: int | None) -> bool:
        """Start a setup that is in the journal; return whether it was started."""
        if operation is None:
            return False
        self._running.append(SetupRun(self._session, operation, worker))
        return True

    def repeat(self, worker: Worker) -> bool:
        """Start the setup of a worker again if it has failed; return whether it was started."""
        if not has_failed_setup(worker.state, worker.last_error):
            return False
        if self.begin(worker, begin_repeated_setup(self._session, worker)):
            return True
        forget_failed_setup(self._session, worker)  # the setting is empty now
        return False

    def take_ended(self) -> Iterator[tuple[Worker, GitWorkerError | None]]:
        """Yield the worker of each setup that has ended, and the error if it failed."""
        for one in [one for one in self._running if one.has_ended()]:
            self._running.remove(one)
            try:
                one.finish()
                if has_failed_setup(one.worker.state, one.worker.last_error):
                    forget_failed_setup(self._session, one.worker)
            except GitWorkerError as error:
                yield one.worker, error
            else:
                yield one.worker, None

    def stop(self) -> None:
        """End all running setups; their workers are FAILED then."""
        while self._running:
            self._running.pop().stop()
