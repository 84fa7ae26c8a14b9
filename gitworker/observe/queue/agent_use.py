"""Registered agents with their workers: how many of their tasks are at work."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.worker import WorkerState
from gitworker.store.scheduling.agents import RegisteredAgent, SlotRow, all_registered, slots_of

if TYPE_CHECKING:
    from gitworker.store.api import Reader

AT_WORK = frozenset({WorkerState.ASSIGNED, WorkerState.WORKING, WorkerState.STALE})


class ShownAgent(NamedTuple):
    """A registered agent, and its workers."""

    agent: RegisteredAgent
    slots: tuple[SlotRow, ...]

    @property
    def at_work(self) -> int:
        """Return the number of its workers that have begun, or are to begin, a task."""
        return sum(one.state in AT_WORK for one in self.slots)

    @property
    def utilization(self) -> float:
        """Return the share of its tasks at once that are at work."""
        return self.at_work / self.agent.tasks

    @property
    def fitness(self) -> str:
        """Return its capabilities, and the only machine that it runs on, in words; may be empty."""
        agent = self.agent
        words = [f"with {', '.join(agent.capabilities)}"] if agent.capabilities else []
        return ", ".join([*words, *([f"on {agent.machine} only"] if agent.machine else [])])


def shown_agents(reader: Reader) -> list[ShownAgent]:
    """Return every registered agent by name."""
    return [ShownAgent(one, tuple(slots_of(reader, one.name))) for one in all_registered(reader)]
