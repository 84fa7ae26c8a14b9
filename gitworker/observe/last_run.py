"""The last run of a worker's agent: its command, its end, and after a failure its last output."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.liveness.rules_stale import is_expected_to_report, is_lost_at_work
from gitworker.model.tokens.prices import Cost, json_cost, parse_prices
from gitworker.observe.logs.rules_screen import rendered
from gitworker.observe.logs.tail import find_agent_log, last_lines
from gitworker.store.records.run_results import RunResult, find_run_result

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.workers import Worker

LINES_SHOWN = 5
LINES_READ = 100  # a full-screen program writes many lines for each that remains
SCREEN_READ = 1 << 16  # characters


@dataclass(frozen=True, slots=True)
class LastRun:
    """A run of the worker's present task; `lines` are the last output of one that gave no result.

    `end`: it ended for this reason ("" if it succeeded) and handed nothing in, and no other process
    works as the worker. `cost`: None if it is not known.
    """

    result: RunResult
    end: str | None
    lines: tuple[str, ...]
    cost: Cost | None = None

    @property
    def paused_at_ms(self) -> int | None:
        """Return since when the agent is paused; None if it is not."""
        return self.result.paused_at_ms

    @property
    def is_idle(self) -> bool:
        """Return whether it succeeded without handing anything in."""
        return self.end == ""

    @property
    def has_failed(self) -> bool:
        """Return whether the run ended with a failure or by a stop."""
        return self.result.ended_at_ms is not None and bool(self.result.reason)


def read_last_run(session: Session, reader: Reader, worker: Worker) -> LastRun | None:
    """Return the newest run of a worker's task; None if no agent ran under supervision."""
    result = find_run_result(reader, worker.worker_id, worker.task_id)
    if result is None:
        return None
    end = _end(result, worker)
    last = LastRun(result, end, (), result.cost(parse_prices(session.settings.agents_prices)))
    log = None
    if last.has_failed or last.is_idle:
        log = find_agent_log(session.paths.logs, worker)
    if log is None:
        return last
    lines, _ = last_lines(log, LINES_READ, begin=result.log_start_bytes or 0)
    rows = [row.strip() for row in rendered("\n".join(lines)[-SCREEN_READ:])]
    rows = [row for row in rows if not _is_sum(row)]
    shown = [row for row in rows[-LINES_SHOWN:] if row]
    if not shown:  # the lower part of a screen may be empty
        shown = [row for row in rows if row][-LINES_SHOWN:]
    return replace(last, lines=tuple(shown))


def _is_sum(line: str) -> bool:
    """Return whether a line of a known agent's log is its tokens and cost."""
    return line.startswith("= ")


def usage_text(last: LastRun) -> str:
    """Return the tokens and the cost that a known agent has reported."""
    result = last.result
    text = f"{result.agent}: {result.input_tokens or 0} tokens in, {result.output_tokens or 0} out"
    return f"{text}, {last.cost.text}" if last.cost and last.cost.usd else text


def _end(result: RunResult, worker: Worker) -> str | None:
    """Return why the agent of a worker ended that is still at work, or has become stale since."""
    if result.ended_at_ms is None or result.pid != worker.pid:
        return None
    is_unchanged = worker.state_changed_at_ms <= result.ended_at_ms
    if is_unchanged and is_expected_to_report(worker.state):
        return result.reason
    return result.reason if is_lost_at_work(worker.state, worker.stale_from) else None


def json_last_run(last: LastRun | None) -> dict[str, Any] | None:
    """Return the run as JSON data."""
    if last is None:
        return None
    result = last.result
    ended = result.ended_at_ms
    return {
        "id": result.id, "command": result.command, "pid": result.pid,
        "started_at": clock.iso_utc(result.started_at_ms),
        "ended_at": None if ended is None else clock.iso_utc(ended),
        "paused_at": None if last.paused_at_ms is None else clock.iso_utc(last.paused_at_ms),
        "exit_status": result.exit_status, "reason": result.reason, "idle": last.is_idle,
        "lines": list(last.lines), "outcome": result.outcome, "agent": result.agent,
        "session": result.session, "input_tokens": result.input_tokens,
        "output_tokens": result.output_tokens, "cached_tokens": result.cached_tokens,
        "model": result.model, **json_cost(last.cost), "failure": result.failure,
        "resets_at": None if result.resets_at_ms is None else clock.iso_utc(result.resets_at_ms),
    }  # fmt: skip
