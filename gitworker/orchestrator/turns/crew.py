"""The registered agents of a run that names none, and the agents that may take each task."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gitworker.agents.adapters.find_agent import require_agent_type
from gitworker.bus.limits.send_limits import limits_of
from gitworker.errors import GitWorkerError, Invalid
from gitworker.observe.queue.agent_use import AT_WORK, shown_agents
from gitworker.orchestrator.turns.rules_crew import (
    CrewAgent,
    Obstacle,
    obstacle_of,
    parse_kind,
    takers_of,
)
from gitworker.store.scheduling.agents import all_registered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.scheduling.agents import RegisteredAgent
    from gitworker.tasks.admission.rules_admission import Running
    from gitworker.tasks.agents.rules_places import Place


class Crew(NamedTuple):
    """The agents that may take each READY task, and why none takes it."""

    takers: dict[str, tuple[str, ...]]
    obstacles: dict[str, Obstacle]


def crew_of(agents: Sequence[CrewAgent], kinds: Mapping[str, str], here: Place) -> Crew:
    """Return which of the agents may take each task here; `kinds` are the kinds of the tasks."""
    parsed = {text: parse_kind(text) for text in set(kinds.values())}
    takers = {text: takers_of(kind, agents, here) for text, kind in parsed.items()}
    found = {text: obstacle_of(kind, takers[text], agents) for text, kind in parsed.items()}
    obstacles = {task: one for task, kind in kinds.items() if (one := found[kind]) is not None}
    return Crew({task: takers[kind] for task, kind in kinds.items()}, obstacles)


def require_crew(session: Session) -> None:
    """Raise Invalid if no agent is registered."""
    with session.store.read() as reader:
        if all_registered(reader):
            return
    raise Invalid(
        "there is no agent to run: none is registered, and none is named",
        "git worker agent add <name> --type <type>"
        "   # or: git worker run --agent claude, git worker run -- <command>",
        code="usage",
    )  # fmt: skip


def read_agents(
    session: Session, reader: Reader, others: Sequence[Running], *, all_start: bool
) -> tuple[CrewAgent, ...]:
    """Return the registered agents by name; work that waits for a person is not at work.

    With `all_start` they are those of the run, and the program of each is looked for.
    """
    limits = limits_of(session.settings).agent_limits
    of_kind = Counter(one.agent_type for one in others)
    return tuple(
        CrewAgent(
            one.agent.name, one.agent.agent_type, one.agent.capabilities, one.agent.tasks,
            one.agent.state, one.agent.is_paused or one.agent.is_leaving,
            sum(slot.state in AT_WORK and not slot.waits_for_author for slot in one.slots),
            of_kind[one.agent.agent_type], limits.get(one.agent.agent_type),
            one.agent.machine, _find_lack(session, one.agent) if all_start else "",
        )
        for one in shown_agents(reader)
    )  # fmt: skip


def _find_lack(session: Session, agent: RegisteredAgent) -> str:
    """Return why an agent cannot start here, such as a missing program; empty if it can."""
    if agent.machine not in (None, session.store.fleet_machine):
        return ""
    try:
        require_agent_type(session, agent.agent_type, agent.command)
    except GitWorkerError as error:
        return error.message
    return ""
