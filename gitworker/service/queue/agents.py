"""The methods of the service for registered agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.observe.queue.agent_use import ShownAgent


class AgentMethods(ServiceBase):
    """Registered agents, which take tasks by themselves; see `WorkMethods` for the imports."""

    def list_registered(self) -> list[ShownAgent]:
        """Return every registered agent by name."""
        from gitworker.tasks.agents.read_agents import read_agents

        with self._reading() as session:
            return read_agents(session)

    def show_registered(self, agent: str) -> ShownAgent:
        """Return everything about one registered agent."""
        from gitworker.tasks.agents.read_agents import read_agent

        with self._reading() as session:
            return read_agent(session, agent)

    def register_agent(
        self,
        agent: str,
        agent_type: str,
        *,
        command: Sequence[str] = (),
        capabilities: Sequence[str] = (),
        tasks: int = 1,
        env: Sequence[str] = (),
        machine: str | None = None,
    ) -> ShownAgent:
        """Register an agent of a known type, with options of its own, or of the type `command`.

        It runs on one machine of the fleet only, if that is given. Raises NotFound for an unknown
        type or machine and for a program that is not installed, Refused for a name that exists.
        """
        from gitworker.agents.adapters.find_agent import require_agent_type
        from gitworker.store.scheduling.agents import RegisteredAgent
        from gitworker.tasks.agents.read_agents import read_agent
        from gitworker.tasks.agents.register import add_agent
        from gitworker.tasks.agents.rules_registered import parse_capabilities, parse_env

        new = RegisteredAgent(
            "", agent, agent_type, tasks=tasks, command=tuple(command),
            capabilities=parse_capabilities(capabilities), env=parse_env(env),
            machine=machine,
        )  # fmt: skip
        with self._acting() as session:
            require_agent_type(session, agent_type, command)
            add_agent(session, new)
            return read_agent(session, agent)

    def change_agent(self, agent: str, *, is_paused: bool = False, is_leaving: bool = False) -> str:
        """Pause or remove an agent after its task, or let it take tasks again; return its state."""
        from gitworker.lifecycle.registered.change_agent import change_agent

        with self._acting() as session:
            return change_agent(session, agent, is_paused=is_paused, is_leaving=is_leaving)
