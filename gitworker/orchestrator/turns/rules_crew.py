"""Which registered agent takes a task, in a run that names none. Pure."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.agent import AgentState
from gitworker.tasks.agents.rules_places import Place, find_elsewhere, find_lacking, may_take
from gitworker.tasks.agents.rules_places import TaskKind as TaskKind
from gitworker.tasks.agents.rules_registered import has_room, unfit_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gitworker.tasks.agents.rules_places import Places
    from gitworker.tasks.rules_task_list import Why


STATE_WORDS: Mapping[str, str] = {
    AgentState.ERROR: "has failed", AgentState.SHUTDOWN: "was shut down",
}  # fmt: skip


class CrewAgent(NamedTuple):
    """A registered agent: what it can take, its tasks at once, and those at work.

    `is_paused`: a person has paused or removed it. `kind_others` are the living agents of its type
    that are not of this run, `kind_limit` is the limit of that type. `machine` is the only one of
    the fleet on which it runs. `lack` is why it cannot start here, such as a missing program.
    """

    name: str
    agent_type: str = "command"
    capabilities: tuple[str, ...] = ()
    tasks: int = 1
    state: str = AgentState.IDLE
    is_paused: bool = False
    at_work: int = 0
    kind_others: int = 0
    kind_limit: int | None = None
    machine: str | None = None
    lack: str = ""

    def has_room(self, *, at_work: int) -> bool:
        """Return whether it may get another task, with so many at work."""
        state, tasks = AgentState(self.state), self.tasks
        is_out = self.is_paused or bool(self.lack)
        return has_room(state, at_work=at_work, tasks=tasks, is_paused=is_out)


class Obstacle(NamedTuple):
    """Why no agent takes a task, and the command that helps; `lasts`: no agent ever could."""

    words: str
    command: str
    lasts: bool = False


class Roster:
    """The agents of a crew while their next tasks are chosen."""

    __slots__ = ("_at_work", "_crew", "_of_kind", "has_passed")

    def __init__(self, crew: Sequence[CrewAgent], *, of_kind: Counter[str]) -> None:
        self._crew = {one.name: one for one in crew}
        self._at_work = Counter({one.name: one.at_work for one in crew})
        self._of_kind = of_kind
        self.has_passed = False  # a task waits for an agent at work

    def note(self, agent: str | None, *, is_counted: bool = False) -> None:
        """Count a task that an agent takes; `is_counted`: its kind has counted it already."""
        if agent is not None and agent in self._crew:
            self._at_work[agent] += 1
            self._of_kind[self._crew[agent].agent_type] += not is_counted

    def choose(self, takers: Collection[str]) -> str | None:
        """Return the least utilised agent that may take a task now, then by name; or None."""
        free = [self._crew[name] for name in takers if self._has_room(name)]
        if not free:
            self.has_passed = True
            return None
        best = min(free, key=lambda one: (self._at_work[one.name] / one.tasks, one.name))
        self.note(best.name)
        return best.name

    def _has_room(self, name: str) -> bool:
        one = self._crew[name]
        limit = one.kind_limit
        used = one.kind_others + self._of_kind[one.agent_type]
        return (limit is None or used < limit) and one.has_room(at_work=self._at_work[name])


def parse_kind(text: str) -> TaskKind:
    """Return the kind of a queued task: `codex ["sql"]`."""
    agent, _, capabilities = text.rpartition(" [")
    return TaskKind(agent or None, tuple(json.loads(f"[{capabilities}")))


def has_place(
    kind: TaskKind,
    crew: Sequence[CrewAgent],
    *,
    agent: str | None,
    running: Mapping[str, int],
    limits: Mapping[str, int],
    here: Place,
) -> bool:
    """Return whether an agent could start on a task of a kind now; also if none ever could.

    `agent` is that of the run, or None for all registered ones. `running` counts the living agents
    of each type, and `limits` has the most of a type at once.
    """
    full = {name for name, limit in limits.items() if running.get(name, 0) >= limit}
    if agent is not None:
        wished = kind.agent or agent
        return next((one.agent_type for one in crew if one.name == wished), wished) not in full
    able = [one for one in crew if one.name in takers_of(kind, crew, here)]
    return not able or any(
        one.agent_type not in full and one.has_room(at_work=one.at_work) for one in able
    )


def find_other_machine(
    kind: TaskKind, crew: Sequence[CrewAgent], places: Places, *, agent: str | None
) -> Why | None:
    """Return why a run of one agent, or of all (None), leaves a kind to other machines, or None."""
    if agent is None:
        return find_elsewhere(kind, crew, places)
    registered = next((one for one in crew if one.name == (kind.agent or agent)), None)
    return find_lacking(kind, registered, places)


def lacks(crew: Iterable[CrewAgent]) -> list[str]:
    """Return the agents that cannot start here, each with the reason."""
    return [_lack_words(one) for one in crew if one.lack]


def takers_of(kind: TaskKind, crew: Sequence[CrewAgent], here: Place) -> tuple[str, ...]:
    """Return the agents that have what a task requires on this machine."""
    return tuple(one.name for one in crew if may_take(one, here, kind))


def obstacle_of(
    kind: TaskKind, takers: Collection[str], crew: Sequence[CrewAgent]
) -> Obstacle | None:
    """Return why no agent can take a task even if it ends all others, or None."""
    if not takers:
        return Obstacle(*unfit_words(required=kind.capabilities, wish=kind.agent), lasts=True)
    able = [one for one in crew if one.name in takers]
    if any(one.has_room(at_work=0) for one in able):
        return None
    one = able[0]
    if one.lack and not one.is_paused:
        return Obstacle(_lack_words(one), f"git worker agent show {one.name}")
    words = "is paused" if one.is_paused else STATE_WORDS.get(one.state, f"is {one.state.lower()}")
    return Obstacle(f"agent {one.name} {words}", f"git worker agent resume {one.name}")


def _lack_words(agent: CrewAgent) -> str:
    return f"agent {agent.name} cannot start: {agent.lack}"
