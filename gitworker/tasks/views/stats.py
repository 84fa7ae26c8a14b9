"""stats: the time, the tokens and the cost of the runs, by task, project or agent."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.model.tokens.prices import json_cost, parse_prices, sum_of
from gitworker.observe.text import NOTHING, listing
from gitworker.store.records.run_results import RunUsage, usage_of_runs
from gitworker.store.scheduling.usage import spending_of_runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.model.tokens.prices import Cost
    from gitworker.session import Session

GROUPS = ("task", "project", "agent")
HEAD = ("RUNS", "RETRIES", "FAILED", "TIME", "INPUT", "OUTPUT", "COST")
TOTAL = "total"


class Stats(NamedTuple):
    """The usage of each task, project or agent with its cost if it is known, and the sum of all."""

    by: str
    usage: tuple[RunUsage, ...]
    costs: Mapping[str, Cost] = MappingProxyType({})

    @property
    def total(self) -> RunUsage:
        """Return the sum of all groups."""
        if not self.usage:
            return RunUsage(TOTAL, *(0,) * 7)
        return RunUsage(TOTAL, *map(sum, zip(*(one[1:] for one in self.usage), strict=True)))


def read_stats(session: Session, by: str) -> Stats:
    """Read the usage of all recorded runs by `task`, `project` or `agent`."""
    with session.store.read() as reader:
        usage = tuple(usage_of_runs(reader, by, now=clock.now_ms()))
        spending = spending_of_runs(reader, by)
    prices = parse_prices(session.settings.agents_prices)
    costs = {name: cost for name, one in spending.items() if (cost := one.cost(prices))}
    return Stats(by, usage, costs)


def render_stats(found: Stats, *, width: int | None, color: bool) -> str:
    """Return a table with a sum for a terminal; without a width, bare rows separated by tabs."""
    rows = [_row(one, found.costs.get(one.name)) for one in found.usage]
    if width is not None and len(rows) > 1:
        rows.append(_row(found.total, sum_of(found.costs.values())))
    head = (found.by.upper(), *HEAD)
    return listing(head, rows, width=width, color=color, empty="no run of an agent is recorded")


def json_stats(found: Stats) -> dict[str, Any]:
    """Return the usage as JSON data."""
    return {
        "by": found.by,
        "usage": [one._asdict() | json_cost(found.costs.get(one.name)) for one in found.usage],
        "total": found.total._asdict() | json_cost(sum_of(found.costs.values())),
    }


def _row(one: RunUsage, cost: Cost | None) -> tuple[str, ...]:
    minutes, seconds = divmod(one.time_ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return (
        one.name, str(one.runs), str(one.retries), str(one.failed),
        f"{hours}:{minutes:02}:{seconds:02}", f"{one.input_tokens:,}", f"{one.output_tokens:,}",
        NOTHING if cost is None else cost.text,
    )  # fmt: skip
