"""timeline: the runs, reviews and landings of a span of time, and the tokens used in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.errors import Invalid
from gitworker.model.tokens.prices import json_cost, parse_prices
from gitworker.observe.timeline.rules_burn import GROUPS, Burn, Share, Used, burn_of
from gitworker.observe.timeline.rules_rows import (
    Bar,
    Move,
    Present,
    Row,
    RunFacts,
    make_rows,
)
from gitworker.store.scheduling.timeline import TimedRun, moves_since, runs_since
from gitworker.store.scheduling.usage import Usage
from gitworker.store.workers import all_workers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.model.tokens.prices import Price
    from gitworker.session import Session

HOURS_AT_MOST = 24 * 31
RUNS_AT_MOST = MOVES_AT_MOST = 5000
MINUTE_MS, HOUR_MS = 60_000, 3_600_000


class Timeline(NamedTuple):
    """A span of time with a row for each worker, and the use of tokens by the hour.

    `left_out` is the number of older rows that are missing; `is_cut`: older runs or steps of the
    span are missing, too.
    """

    since_ms: int
    until_ms: int
    rows: tuple[Row, ...]
    left_out: int
    is_cut: bool
    burn: Burn


def read_timeline(session: Session, hours: int, by: str) -> Timeline:
    """Read the last hours, with the use of tokens by `agent` or `project`."""
    if not 1 <= hours <= HOURS_AT_MOST:
        raise Invalid(f"a timeline has 1 to {HOURS_AT_MOST} hours")
    if by not in GROUPS:
        raise Invalid(f"tokens are counted by {' or '.join(GROUPS)}, not by {by}")
    until = -(-clock.now_ms() // MINUTE_MS) * MINUTE_MS  # the same for all reads of a minute
    since = until - hours * HOUR_MS
    with session.store.read() as reader:
        runs = runs_since(reader, since, limit=RUNS_AT_MOST)
        moves = moves_since(reader, since, limit=MOVES_AT_MOST)
        workers = all_workers(reader)
    prices = parse_prices(session.settings.agents_prices)
    present: dict[str, Present] = {
        one.worker_id: Present(one.state, one.state_changed_at_ms, one.task_id) for one in workers
    }
    rows = make_rows(
        [_run_facts(one, prices) for one in reversed(runs)],
        [
            Move(
                one.ts_ms, one.worker_id, one.task_id, one.from_state, one.event, one.to_state,
                one.actor, one.is_undo,
            )
            for one in reversed(moves)
        ],
        present, since=since,
    )  # fmt: skip
    bounds = sorted({since, *clock.local_hours(since, until), until})
    burn = burn_of([_used(one, prices, by, until) for one in runs], bounds, by=by)
    is_cut = len(runs) == RUNS_AT_MOST or len(moves) == MOVES_AT_MOST
    return Timeline(since, until, rows.rows, rows.left_out, is_cut, burn)


def json_timeline(found: Timeline) -> dict[str, Any]:
    """Return a timeline as JSON data."""
    return {
        "since_ms": found.since_ms, "until_ms": found.until_ms, "left_out": found.left_out,
        "is_cut": found.is_cut,
        "rows": [
            {
                "worker": row.worker, "bars": [_json_bar(one) for one in row.bars],
                "marks": [one._asdict() for one in row.marks],
            }
            for row in found.rows
        ],
        "burn": {
            "by": found.burn.by, "groups": [_json_share(one) for one in found.burn.groups],
            "hours": [
                {
                    "start_ms": hour.start_ms, "end_ms": hour.end_ms, "tokens": hour.tokens,
                    **json_cost(hour.cost), "groups": [_json_share(one) for one in hour.shares],
                }
                for hour in found.burn.hours
            ],
        },
    }  # fmt: skip


def _json_bar(bar: Bar) -> dict[str, Any]:
    fields = bar._asdict()
    return fields | json_cost(fields.pop("cost"))


def _json_share(share: Share) -> dict[str, Any]:
    return {"group": share.group, "tokens": share.tokens, **json_cost(share.cost)}


def _usage(run: TimedRun) -> Usage:
    return Usage(run.input_tokens, run.output_tokens, run.cached_tokens, run.cost_usd, run.model)


def _run_facts(run: TimedRun, prices: Mapping[str, Price]) -> RunFacts:
    usage = _usage(run)
    return RunFacts(
        run.worker_id, run.task_id, run.agent, run.started_at_ms, run.ended_at_ms, run.outcome,
        usage.tokens, usage.cost(prices, run.agent),
    )  # fmt: skip


def _used(run: TimedRun, prices: Mapping[str, Price], by: str, until: int) -> Used:
    usage = _usage(run)
    group = run.agent if by == GROUPS[0] else run.project_id
    end = until if run.ended_at_ms is None else run.ended_at_ms
    cost = usage.cost(prices, run.agent)
    return Used(group, run.started_at_ms, end, usage.tokens, cost, tuple(run.token_times))
