"""The kinds of tasks that can start now, and those that wait for another machine of the fleet."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gitworker.bus.limits.send_limits import limits_of
from gitworker.orchestrator.turns.crew import read_agents
from gitworker.orchestrator.turns.rules_crew import find_other_machine, has_place, parse_kind
from gitworker.tasks.agents.places import read_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.tasks.admission.rules_admission import Running


class Kinds:
    """Judges each kind once, for a run of one agent or of all registered ones (None)."""

    def __init__(
        self,
        session: Session,
        reader: Reader,
        agent: str | None,
        *,
        living: Sequence[Running],
        others: Sequence[Running],
    ) -> None:
        self.crew = read_agents(session, reader, others, all_start=agent is None)
        self.places = read_places(reader, session.store.fleet_machine)
        self.limits = limits_of(session.settings).agent_limits
        self._agent = agent
        self._running = Counter(one.agent_type for one in living)
        self._elsewhere: dict[str, str] = {}
        self._open: dict[str, bool] = {}

    def elsewhere(self, kind: str) -> str:
        """Return why tasks of a kind wait for another machine; empty if they do not."""
        if kind not in self._elsewhere:
            found = find_other_machine(parse_kind(kind), self.crew, self.places, agent=self._agent)
            self._elsewhere[kind] = "" if found is None else found.reason
        return self._elsewhere[kind]

    def is_open(self, kind: str) -> bool:
        """Return whether an agent could start here on a task of a kind now, or none ever could."""
        if kind not in self._open:
            self._open[kind] = not self.elsewhere(kind) and has_place(
                parse_kind(kind), self.crew, agent=self._agent, running=self._running,
                limits=self.limits, here=self.places.here,
            )  # fmt: skip
        return self._open[kind]
