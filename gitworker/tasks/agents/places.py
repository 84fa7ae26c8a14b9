"""Read the machines on which agents can do tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import NotFound, Refused
from gitworker.store.fleet.machines import all_machines
from gitworker.tasks.agents.rules_places import STATUS, Place, Places

if TYPE_CHECKING:
    from gitworker.store.api import Reader


def no_fleet() -> Refused:
    """Return the refusal of a command that needs a fleet."""
    return Refused("this repository is in no fleet", STATUS, code="no_fleet")


def require_machine(reader: Reader, name: str) -> None:
    """Raise NotFound unless the fleet has a machine of this name that has not left."""
    if name not in [one.id for one in all_machines(reader) if one.left_at_ms is None]:
        raise NotFound(f"the fleet has no machine {ascii(name)[:80]}", STATUS, code="no_machine")


def read_places(reader: Reader, machine: str | None) -> Places:
    """Return this machine and the others of its fleet; the only place without a fleet.

    A machine is silent if its lease ended before the last report of any other.
    """
    if machine is None:
        return Places()
    rows = all_machines(reader)
    now = max((one.seen_at_ms for one in rows), default=0)
    found = {
        one.id: Place(one.id, one.capabilities, is_silent=one.lease_until_ms <= now)
        for one in rows
        if one.left_at_ms is None
    }
    here = found.pop(machine, Place(machine))._replace(is_silent=False)
    known = frozenset(name for one in rows for name in one.capabilities)
    return Places(here, tuple(found.values()), known)
