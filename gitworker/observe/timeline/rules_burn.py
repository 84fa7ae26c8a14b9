"""The tokens and the cost of runs by the hour. Pure.

The database has the tokens that a run has reported in each quarter of an hour, which count evenly
over that quarter. A run of an older version has its sum only, and counts evenly over its time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.tokens.prices import Cost, sum_of
from gitworker.model.tokens.token_times import QUARTER_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

GROUPS = ("agent", "project")


class Used(NamedTuple):
    """The tokens and the cost of one run, with its group; `cost` is None if it is not known.

    `times` has the tokens that it reported in a quarter of an hour, by its beginning.
    """

    group: str
    start_ms: int
    end_ms: int
    tokens: int
    cost: Cost | None
    times: tuple[tuple[int, int], ...] = ()


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
    cells: dict[str, dict[int, list[Share]]] = {}
    for run in runs:
        parts = cells.setdefault(run.group, {})
        for part in _parts(run):
            for at, share in _spread(part, bounds):
                parts.setdefault(at, []).append(share)
    totals = [_sum(name, chain(*parts.values())) for name, parts in cells.items()]
    groups = sorted((one for one in totals if one.tokens), key=lambda one: (-one.tokens, one.group))
    hours = tuple(
        Hour(start, end, tuple(_sum(one.group, cells[one.group].get(at, ())) for one in groups))
        for at, (start, end) in enumerate(pairwise(bounds))
    )
    return Burn(by, hours, tuple(groups))


def _parts(run: Used) -> Iterator[Used]:
    """Yield the use of a run in each quarter of an hour; all tokens add up to those of the run."""
    whole = sum(tokens for _, tokens in run.times)
    if whole <= 0:
        yield run
        return
    before = 0
    for quarter, tokens in run.times:
        start, end = (round(run.tokens * at / whole) for at in (before, before + tokens))
        before += tokens
        began = max(quarter, run.start_ms)
        ended = max(began, min(quarter + QUARTER_MS, run.end_ms))
        yield Used(run.group, began, ended, end - start, _times(run.cost, tokens / whole))


def _spread(run: Used, bounds: Sequence[int]) -> Iterator[tuple[int, Share]]:
    """Yield the part of a run in each of its hours; all tokens add up to those of the run."""
    first = max(0, bisect_right(bounds, run.start_ms) - 1)
    last = min(len(bounds) - 1, max(bisect_left(bounds, run.end_ms), first + 1))
    shares = [_share_before(run, bounds[at]) for at in range(first, last + 1)]
    for at, (start, end) in enumerate(pairwise(shares), first):
        tokens = round(run.tokens * end) - round(run.tokens * start)
        yield at, Share(run.group, tokens, _times(run.cost, end - start))


def _share_before(run: Used, at: int) -> float:
    """Return the share of a run before a time; a run without a length is after its beginning."""
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
