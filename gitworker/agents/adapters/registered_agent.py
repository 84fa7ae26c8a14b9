"""The command of a registered agent: its type, its words and its variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.agents.adapters.find_agent import COMMAND_TYPE
from gitworker.errors import Refused
from gitworker.store.scheduling.agents import find_registered

if TYPE_CHECKING:
    from gitworker.session import Session


class AgentCommand(NamedTuple):
    """The agent of a run: a known one with its own options, or (None) a plain command.

    `agent` is the name of a registered agent, and `env` its variables.
    """

    name: str | None
    words: tuple[str, ...]
    time_limit_s: float | None = None
    agent: str | None = None
    env: tuple[tuple[str, str], ...] = ()

    @property
    def is_open(self) -> bool:
        """Return whether it names no agent, so that all registered agents take part."""
        return self.name is None and self.agent is None and not self.words


def as_registered(session: Session, command: AgentCommand) -> AgentCommand:
    """Return the command of the registered agent that a command names, else the command.

    Raises Refused for an agent that runs on another machine of the fleet only.
    """
    if command.name is None:
        return command
    with session.store.read() as reader:
        found = find_registered(reader, command.name)
    if found is None:
        return command
    if found.machine not in (None, session.store.fleet_machine):
        raise Refused(
            f"agent {found.name} runs on the machine {found.machine} only",
            "git worker fleet status",
            code="on_another_machine",
        )
    name = None if found.agent_type == COMMAND_TYPE else found.agent_type
    return command._replace(
        name=name, words=(*found.command, *command.words), agent=found.name, env=found.env
    )
