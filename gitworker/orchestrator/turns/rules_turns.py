"""Whose turn it is: projects share the agent time by their weights (deficit round robin). Pure.

Each project has a credit of agent time. The time that all agents use is charged to their projects,
and handed out again by weight to the projects that compete for it, so the sum stays the same. The
project with the largest credit starts the next task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

QUANTUM_MS = 60_000.0  # charged for a start until its time is known
CREDIT_MAX_MS = 3_600_000.0  # a project that could not use its share does not save it up
WEIGHT_MIN = 1e-6


class ProjectQueue(NamedTuple):
    """A project's weight, its credit, its running agents, and its READY tasks in their order.

    `places` is the number of agents that it may still start; None: no limit of its own.
    """

    project: str
    weight: float = 1.0
    credit_ms: float = 0.0
    running: int = 0
    ready: tuple[str, ...] = ()
    places: int | None = None

    @property
    def competes(self) -> bool:
        """Return whether the project uses or wants agent time."""
        return bool(self.running or self.ready)


def take_turns(queues: Sequence[ProjectQueue], *, number: int) -> tuple[str, ...]:
    """Return the next `number` tasks: of the project with the most credit, again and again.

    Between equals the first one in the order of `queues` is next.
    """
    credit = {one.project: one.credit_ms for one in queues}
    left = {one.project: list(one.ready[: one.places]) for one in queues}
    weights = {one.project: max(one.weight, WEIGHT_MIN) for one in queues}
    chosen: list[str] = []
    while len(chosen) < number and (open_ := [project for project in left if left[project]]):
        total = sum(weights[project] for project in open_)
        for project in open_:
            credit[project] += QUANTUM_MS * weights[project] / total
        best = max(open_, key=lambda project: credit[project])
        credit[best] -= QUANTUM_MS
        chosen.append(left[best].pop(0))
    return tuple(chosen)


def account(queues: Sequence[ProjectQueue], *, elapsed_ms: float) -> dict[str, float]:
    """Return the credit of each project after a time in which its agents ran.

    A project that neither runs nor wants an agent has no credit.
    """
    competing = [one for one in queues if one.competes]
    used_ms = elapsed_ms * sum(one.running for one in competing)
    total = sum(max(one.weight, WEIGHT_MIN) for one in competing)
    credits = {one.project: 0.0 for one in queues}
    for one in competing:
        share_ms = used_ms * max(one.weight, WEIGHT_MIN) / total
        credit_ms = one.credit_ms + share_ms - elapsed_ms * one.running
        credits[one.project] = min(CREDIT_MAX_MS, max(-CREDIT_MAX_MS, credit_ms))
    return credits
