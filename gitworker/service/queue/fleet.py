"""The methods of the service for a fleet of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from gitworker.fleet.join import Joined
    from gitworker.fleet.leave import Left
    from gitworker.observe.machines import FleetStatus


class FleetMethods(ServiceBase):
    """Join, leave and status; see `WorkMethods` for the imports."""

    def join_fleet(self, location: str, *, name: str | None = None) -> Joined:
        """Make the repository a machine of the fleet at a location; safe to repeat."""
        from gitworker.fleet.join import join

        with self._acting() as session:
            return join(session, location, name=name)

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
