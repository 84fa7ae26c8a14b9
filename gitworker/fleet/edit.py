"""Change what the fleet knows about a machine: the capabilities that its agents have there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.session import require_person
from gitworker.store.fleet.machines import set_capabilities
from gitworker.tasks.agents.places import no_fleet, require_machine
from gitworker.tasks.agents.rules_registered import parse_capabilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session


class Edited(NamedTuple):
    """A machine with its present capabilities."""

    machine: str
    capabilities: tuple[str, ...]


def json_edited(edited: Edited) -> dict[str, Any]:
    """Return a machine that was changed as JSON fields."""
    return {"machine": edited.machine, "capabilities": list(edited.capabilities)}


def edit_machine(session: Session, machine: str | None, capabilities: Sequence[str]) -> Edited:
    """Replace the capabilities of a machine, of this one by default; `''` stands for none.

    Raises Invalid for a bad name, Refused without a fleet, NotFound for a machine that it lacks.
    """
    require_person(session, "the fleet", "ask a person")
    offered = parse_capabilities(one for one in capabilities if one)
    name = machine or session.store.fleet_machine
    if session.store.fleet_machine is None or name is None:
        raise no_fleet()
    with session.store.write() as writer:
        require_machine(writer, name)
        set_capabilities(writer, name, offered)
    return Edited(name, offered)
