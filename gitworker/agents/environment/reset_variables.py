"""The variables by which an agent that resets its environment still commits and finds us.

Each needs git, which runs while the agent waits at its gate.
"""

from __future__ import annotations

from gitworker.agents.environment.identity import IdentityQuestion
from gitworker.agents.environment.own_program import WayToUs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.workers import Worker


class ResetVariables:
    """Ask git for the values in a worker's worktree; `finish` waits for them."""

    __slots__ = ("_identity", "_way_to_us")

    def __init__(self, paths: StatePaths, worker: Worker) -> None:
        assert worker.worktree is not None
        self._identity = IdentityQuestion(worker.worktree)
        self._way_to_us = WayToUs(paths, worker)

    def finish(self) -> dict[str, str]:
        """Return the variables, once the alias is set in the worktree's own configuration."""
        found = self._identity.answer()
        found.update(self._way_to_us.finish())
        return {name: value for name, value in found.items() if "\n" not in value}
