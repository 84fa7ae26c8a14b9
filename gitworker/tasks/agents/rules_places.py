"""The machines of a fleet on which an agent can do a task. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from gitworker.rules_text import quoted
from gitworker.tasks.rules_task_list import Why

if TYPE_CHECKING:
    from collections.abc import Sequence

STATUS = "git worker fleet status"


class Taker(Protocol):
    """A registered agent, as far as it decides which tasks it can take."""

    @property
    def name(self) -> str:
        """Return its name."""

    @property
    def agent_type(self) -> str:
        """Return the type of its program."""

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Return its own capabilities."""

    @property
    def machine(self) -> str | None:
        """Return the only machine on which it runs; None: on all."""


class TaskKind(NamedTuple):
    """The agent or type that a task names, and the capabilities that it requires."""

    agent: str | None = None
    capabilities: tuple[str, ...] = ()


class Place(NamedTuple):
    """A machine, and the capabilities that each agent has there; a repository of its own is one."""

    name: str = ""
    capabilities: tuple[str, ...] = ()
    is_silent: bool = False


class Places(NamedTuple):
    """This machine, the others that have not left, and all capabilities that a machine ever had."""

    here: Place = Place()
    others: tuple[Place, ...] = ()
    known: frozenset[str] = frozenset()


class Anyone(NamedTuple):
    """An agent that is not registered."""

    name: str = ""
    agent_type: str = ""
    capabilities: tuple[str, ...] = ()
    machine: str | None = None


ANYONE = Anyone()


def may_take(agent: Taker, place: Place, kind: TaskKind) -> bool:
    """Return whether an agent has what a task requires, on a machine, and is the one it names."""
    is_named = kind.agent in (None, agent.name, agent.agent_type)
    is_here = agent.machine in (None, place.name)
    return (
        is_named and is_here and {*kind.capabilities} <= {*agent.capabilities, *place.capabilities}
    )


def find_elsewhere(kind: TaskKind, agents: Sequence[Taker], places: Places) -> Why | None:
    """Return why a task waits for another machine: only there one of the agents can take it."""
    if any(may_take(one, places.here, kind) for one in agents):
        return None
    found = [one for one in places.others if any(may_take(own, one, kind) for own in agents)]
    return _elsewhere(found, kind.capabilities) if found else None


def find_lacking(kind: TaskKind, agent: Taker | None, places: Places) -> Why | None:
    """Return why a task of a named agent, perhaps a registered one, does not start here, or None.

    Its person vouches for it, so only capabilities that a machine has, or had, count.
    """
    of_machines = tuple(one for one in kind.capabilities if one in places.known)
    wanted, taker = TaskKind(None, of_machines), agent or ANYONE
    if may_take(taker, places.here, wanted):
        return None
    return _elsewhere([one for one in places.others if may_take(taker, one, wanted)], of_machines)


def _elsewhere(found: Sequence[Place], required: Sequence[str]) -> Why:
    if not found and not required:
        return Why("its agent runs only on a machine that has left the fleet", None)
    reason = (
        f"it requires {capabilities_text(required)}" if required else "its agent runs only there"
    )
    if not found:
        options = "".join(f" --capability {quoted(one)}" for one in required)
        words = f"no machine of the fleet can run it: {reason}"
        return Why(words, f"git worker fleet edit{options}")
    names = " or ".join(f"{one.name} (silent)" if one.is_silent else one.name for one in found)
    noun = "machine" if len(found) == 1 else "machines"
    return Why(f"only the {noun} {names} can run it: {reason}", STATUS)


def capabilities_text(capabilities: Sequence[str]) -> str:
    """Return capabilities in words: `the capabilities gpu, sql`."""
    noun = "capability" if len(capabilities) == 1 else "capabilities"
    return f"the {noun} {', '.join(capabilities)}"
