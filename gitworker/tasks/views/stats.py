"""stats: the time, the tokens and the cost of the runs, by task, project or agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.observe.text import NOTHING, listing
from gitworker.store.records.run_results import RunUsage, usage_of_runs

if TYPE_CHECKING:
    from gitworker.session import Session

GROUPS = ("task", "project", "agent")
HEAD = ("RUNS", "RETRIES", "FAILED", "TIME", "INPUT", "OUTPUT", "COST")
TOTAL = "total"


class Stats(NamedTuple):
    """The usage of each task, project or agent, and the sum of all."""

    by: str
    usage: tuple[RunUsage, ...]

    @property
    def total(self) -> RunUsage:
        """Return the sum of all groups."""
        costs = [one.cost_usd for one in self.usage if one.cost_usd is not None]
        runs, retries, failed, time_ms, given, made = (
            sum(column) for column in zip(*(one[1:7] for one in self.usage), strict=True)
        ) if self.usage else (0,) * 6  # fmt: skip
        cost = sum(costs) if costs else None
        return RunUsage(TOTAL, runs, retries, failed, time_ms, given, made, cost)


def read_stats(session: Session, by: str) -> Stats:
    """Read the usage of all recorded runs by `task`, `project` or `agent`."""
    with session.store.read() as reader:
        return Stats(by, tuple(usage_of_runs(reader, by, now=clock.now_ms())))


def render_stats(found: Stats, *, width: int | None, color: bool) -> str:
    """Return a table with a sum for a terminal; without a width, bare rows separated by tabs."""
    rows = [_row(one) for one in found.usage]
    if width is not None and len(rows) > 1:
        rows.append(_row(found.total))
    head = (found.by.upper(), *HEAD)
    return listing(head, rows, width=width, color=color, empty="no run of an agent is recorded")


def json_stats(found: Stats) -> dict[str, Any]:
    """Return the usage as JSON data."""
    return {
        "by": found.by,
        "usage": [one._asdict() for one in found.usage],
        "total": found.total._asdict(),
    }


def _row(one: RunUsage) -> tuple[str, ...]:
    minutes, seconds = divmod(one.time_ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    cost = NOTHING if one.cost_usd is None else f"${one.cost_usd:.2f}"
    return (
        one.name, str(one.runs), str(one.retries), str(one.failed),
        f"{hours}:{minutes:02}:{seconds:02}", f"{one.input_tokens:,}", f"{one.output_tokens:,}",
        cost,
    )  # fmt: skip
