"""agent add, pause, resume and remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.bus.transitions import move_agent
from gitworker.errors import NotFound, Refused
from gitworker.model.agent import AgentEvent
from gitworker.model.ids import parse_worker_id
from gitworker.session import require_person
from gitworker.store.scheduling.agents import (
    RegisteredAgent,
    find_registered,
    insert_registered,
)
from gitworker.tasks.agents.places import no_fleet, require_machine
from gitworker.tasks.agents.rules_registered import require_number
from gitworker.tasks.queue.promote import publish_changes

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Reader

LIST = "git worker agent list"


def add_agent(session: Session, agent: RegisteredAgent) -> RegisteredAgent:
    """Register an agent; it is IDLE then.

    The caller has checked its type and program. Raises Invalid for a bad name or number, Refused
    for a name that another agent has, and for a worker.
    """
    require_person(session, "agents", LIST)
    require_number(agent.tasks)
    parse_worker_id(agent.name)
    if agent.machine is not None and session.store.fleet_machine is None:
        raise no_fleet()
    with session.store.write() as writer:
        if agent.machine is not None:
            require_machine(writer, agent.machine)
        if find_registered(writer, agent.name) is not None:
            raise Refused(
                f"agent {agent.name} exists already", f"git worker agent show {agent.name}",
                code="agent_exists",
            )  # fmt: skip
        insert_registered(writer, agent, clock.now_ms())
        added = require_registered(writer, agent.name)
        added = move_agent(writer, added, AgentEvent.REGISTRATION_COMPLETE, actor=session.actor)
    publish_changes(session)
    return added


def require_registered(reader: Reader, name: str) -> RegisteredAgent:
    """Return a registered agent; raise NotFound for another name."""
    found = find_registered(reader, name)
    if found is None:
        raise NotFound(
            f"no agent {ascii(name)[:80]} is registered", LIST,
            code="unknown_agent",
        )  # fmt: skip
    return found
