"""The methods of the service for automations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from gitworker.automations.rules_automation import Draft
    from gitworker.automations.show import AutomationHistory, AutomationList
    from gitworker.store.planning.automations import Automation, AutomationRun


class AutomationMethods(ServiceBase):
    """Work that starts by time or by events; see `WorkMethods` for the imports."""

    def add_automation(self, draft: Draft) -> Automation:
        """Add an automation; raise Invalid for a bad one, Refused for a name that exists."""
        from gitworker.agents.adapters.find_adapter import find_adapter
        from gitworker.automations.change import add

        with self._acting() as session:
            if draft.agent is not None:
                find_adapter(session, draft.agent)
            return add(session, draft)

    def list_automations(self) -> AutomationList:
        """Return all automations by name."""
        from gitworker.automations.show import read_list

        with self._reading() as session:
            return read_list(session)

    def show_automation(self, name: str) -> Automation:
        """Return one automation."""
        from gitworker.automations.show import read_one

        with self._reading() as session:
            return read_one(session, name)

    def enable_automation(self, name: str, *, enabled: bool = True) -> Automation:
        """Let an automation fire from now on, or never."""
        from gitworker.automations.change import enable

        with self._acting() as session:
            return enable(session, name, enabled=enabled)

    def remove_automation(self, name: str) -> Automation:
        """Delete an automation; the records of its runs stay."""
        from gitworker.automations.change import remove

        with self._acting() as session:
            return remove(session, name)

    def run_automation(self, name: str, *, run: str | None = None) -> AutomationRun:
        """Run an automation now, or carry out a `run` that is claimed; return its record."""
        from gitworker.automations.carry_out import carry_out
        from gitworker.automations.fire import fire_now

        with self._acting() as session:
            if run is None:
                run = fire_now(session, name).run
            return carry_out(session, run)

    def automation_history(self, name: str, limit: int = 20) -> AutomationHistory:
        """Return the newest runs of an automation."""
        from gitworker.automations.show import read_history

        with self._reading() as session:
            return read_history(session, name, limit)
