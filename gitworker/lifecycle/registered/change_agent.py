"""agent pause, resume and remove: the flag, and the state that follows it at once if it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.bus.transitions import move_agent
from gitworker.lifecycle.registered.follow_agent import follow_agent
from gitworker.lifecycle.registered.rules_agent_events import resets
from gitworker.model.agent import AgentEvent
from gitworker.session import require_person
from gitworker.store.scheduling.agents import set_agent_flags
from gitworker.tasks.agents.register import LIST, require_registered
from gitworker.tasks.queue.promote import publish_changes

if TYPE_CHECKING:
    from gitworker.session import Session


def change_agent(
    session: Session, name: str, *, is_paused: bool = False, is_leaving: bool = False
) -> str:
    """Pause an agent, remove it, or (with neither) let it take tasks again; return its state.

    An agent at work finishes its task first. A resumed agent with an error is reset. Raises
    NotFound for another name, and Refused for a worker.
    """
    require_person(session, "agents", LIST)
    with session.store.write() as writer:
        agent = require_registered(writer, name)
        agent = agent._replace(is_paused=is_paused, is_leaving=is_leaving)
        set_agent_flags(writer, agent)
        if resets(agent.state, is_paused=is_paused, is_leaving=is_leaving):
            agent = move_agent(writer, agent, AgentEvent.RESET, actor=session.actor)
        state = follow_agent(writer, agent, actor=session.actor)
    publish_changes(session)
    return state
