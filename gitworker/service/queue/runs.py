"""The methods of the service for runs of the orchestrator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from gitworker.orchestrator.results import RunSummary
    from gitworker.orchestrator.rules_next import Plan
    from gitworker.orchestrator.run import RunOrder
    from gitworker.tasks.views.stats import Stats


class RunMethods(ServiceBase):
    """Hand tasks to agents; see `WorkMethods` for the imports."""

    def run(self, order: RunOrder) -> RunSummary:
        """Start agents for tasks, land and take up their work, until nothing is left to do."""
        from gitworker.orchestrator.run import run

        with self._acting() as session:
            return run(session, order)

    def plan_run(self, order: RunOrder) -> Plan:
        """Return the first actions of a run without carrying them out."""
        from gitworker.orchestrator.run import plan_run

        with self._reading() as session:
            return plan_run(session, order)

    def stats(self, by: str = "task") -> Stats:
        """Return what the runs of each `task`, `project` or `agent` have used."""
        from gitworker.tasks.views.stats import read_stats

        with self._reading() as session:
            return read_stats(session, by)
