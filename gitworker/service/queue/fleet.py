"""The methods of the service for a fleet of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.fleet.edit import Edited
    from gitworker.fleet.join import Joined
    from gitworker.fleet.leave import Left
    from gitworker.observe.machines import FleetStatus


class FleetMethods(ServiceBase):
    """Join, edit, leave and status; see `WorkMethods` for the imports."""

    def join_fleet(
        self, location: str, *, name: str | None = None, capabilities: Sequence[str] = ()
    ) -> Joined:
        """Make the repository a machine of the fleet at a location; safe to repeat."""
        from gitworker.fleet.join import join

        with self._acting() as session:
            return join(session, location, name=name, capabilities=capabilities)

    def edit_machine(self, machine: str | None, capabilities: Sequence[str]) -> Edited:
        """Replace the capabilities of a machine, of this one by default."""
        from gitworker.fleet.edit import edit_machine

        with self._acting() as session:
            return edit_machine(session, machine, capabilities)

    def leave_fleet(self) -> Left:
        """Leave the fleet and keep what it has."""
        from gitworker.fleet.leave import leave

        with self._acting() as session:
            return leave(session)

    def fleet_status(self) -> FleetStatus:
        """Return the machines of the fleet; none in a repository of its own."""
        from gitworker.observe.machines import fleet_status

        with self._quickly() as session:
            return fleet_status(session)
