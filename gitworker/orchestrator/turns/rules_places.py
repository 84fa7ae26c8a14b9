"""How many agents a run may start, by the limits of projects and of a kind of agent. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.project import ProjectStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.orchestrator.rules_next import Limits


class ProjectFacts(NamedTuple):
    """A project's status, its number of agents, whether a person has set that, and its tokens.

    `running` are its living agents; `others` are those of them that are not of this run.
    """

    status: str = ProjectStatus.ACTIVE
    agents: int = 2
    is_set: bool = False
    has_tokens: bool = True
    running: int = 0
    others: int = 0


class KindFacts(NamedTuple):
    """The agents of the run's kind that are not of this run, and the limit; None: no limit."""

    others: int = 0
    at_once: int | None = None


def limits_of(
    projects: Sequence[ProjectFacts], kind: KindFacts, wanted: Limits, *, agents: int | None
) -> Limits:
    """Return the limits of a run; `wanted` are its own.

    `agents` of the run replaces the defaults of the projects, and stays below the numbers that a
    person has set.
    """
    ceilings = [
        one.agents - one.others if one.is_set else one.agents if agents is None else None
        for one in projects
    ]
    bounds = [max(0, one) for one in ceilings if one is not None]
    numbers = [] if agents is None else [agents]
    if len(bounds) == len(ceilings):
        numbers.append(sum(bounds))
    if kind.at_once is not None:
        numbers.append(max(0, kind.at_once - kind.others))
    others = kind.others + sum(one.others for one in projects)
    return wanted._replace(agents=min(numbers, default=0), others=others > 0)


def places_of(project: ProjectFacts, *, agents: int | None) -> int | None:
    """Return how many new tasks of a project may start now; None: as many as the run allows.

    None start in a project that is not ACTIVE, or has used its tokens.
    """
    if project.status != ProjectStatus.ACTIVE or not project.has_tokens:
        return 0
    if project.is_set:
        return max(0, project.agents - project.running)
    ours = project.running - project.others
    return max(0, project.agents - ours) if agents is None else None
