"""The tokens and the cost of runs by the hour. Pure.

The database has the sum of each run, not the time of each token. So a run counts evenly from its
beginning to its end.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.tokens.prices import Cost, sum_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GROUPS = ("agent", "project")


class Used(NamedTuple):
    """The tokens and the cost of one run, with its group; `cost` is None if it is not known."""

    group: str
    start_ms: int
    end_ms: int
    tokens: int
    cost: Cost | None


class Share(NamedTuple):
    """The tokens of a group in an hour or in all; `cost` is None if it is not known."""

    group: str
    tokens: int
    cost: Cost | None


class Hour(NamedTuple):
    """A part of the time between two full hours, with the use of each group in it."""

    start_ms: int
    end_ms: int
    shares: tuple[Share, ...]

    @property
    def tokens(self) -> int:
        """Return the tokens of all groups."""
        return sum(one.tokens for one in self.shares)

    @property
    def cost(self) -> Cost | None:
        """Return the cost of all groups as far as it is known."""
        return sum_of(one.cost for one in self.shares)


class Burn(NamedTuple):
    """The use by the hour, and that of each group in all, the largest first."""

    by: str
    hours: tuple[Hour, ...]
    groups: tuple[Share, ...]

    @property
    def tokens(self) -> int:
        """Return the tokens of all groups."""
        return sum(one.tokens for one in self.groups)

    @property
    def cost(self) -> Cost | None:
        """Return the cost of all groups as far as it is known."""
        return sum_of(one.cost for one in self.groups)


def burn_of(runs: Iterable[Used], bounds: Sequence[int], *, by: str) -> Burn:
    """Return the use between the bounds of hours, of which there are at least two."""
    cells: dict[str, list[list[Share]]] = {}
    for run in runs:
        parts = cells.setdefault(run.group, [[] for _ in bounds[1:]])
        for part, share in zip(parts, _spread(run, bounds), strict=True):
            part.append(share)
    totals = [_sum(name, [one for part in parts for one in part]) for name, parts in cells.items()]
    groups = sorted((one for one in totals if one.tokens), key=lambda one: (-one.tokens, one.group))
    hours = tuple(
        Hour(start, end, tuple(_sum(one.group, cells[one.group][at]) for one in groups))
        for at, (start, end) in enumerate(pairwise(bounds))
    )
    return Burn(by, hours, tuple(groups))


def _spread(run: Used, bounds: Sequence[int]) -> list[Share]:
    """Return the part of a run in each hour; the tokens of all parts add up to those of the run."""
    shares = [_share_before(run, at) for at in bounds]
    counted = [round(run.tokens * share) for share in shares]
    return [
        Share(run.group, last - first, _times(run.cost, end - start))
        for (first, last), (start, end) in zip(pairwise(counted), pairwise(shares), strict=True)
    ]


def _share_before(run: Used, at: int) -> float:
    """Return the share of a run before a time; a run without a length is before its end."""
    if at <= run.start_ms:
        return 0.0
    if at >= run.end_ms:
        return 1.0
    return (at - run.start_ms) / (run.end_ms - run.start_ms)


def _times(cost: Cost | None, share: float) -> Cost | None:
    return Cost(cost.usd * share, cost.estimated_usd * share) if cost and share else None


def _sum(group: str, shares: Iterable[Share]) -> Share:
    found = [*shares]
    return Share(group, sum(one.tokens for one in found), sum_of(one.cost for one in found))
