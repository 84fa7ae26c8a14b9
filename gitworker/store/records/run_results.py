"""The newest run of a task, with its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gitworker.store.api import Reader, Writer


class RunResult(NamedTuple):
    """One run; without `ended_at_ms` it is open. The status is None if it is not known."""

    id: int
    command: str
    pid: int | None
    started_at_ms: int
    ended_at_ms: int | None
    exit_status: int | None
    reason: str | None
    outcome: str | None
    agent: str | None
    session: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    failure: str | None
    resets_at_ms: int | None
    paused_at_ms: int | None = None


class RunReportRow(NamedTuple):
    """The outcome of a run, and the facts that a known agent has reported; None: not known."""

    outcome: str
    agent: str | None = None
    session: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    failure: str | None = None
    resets_at_ms: int | None = None


class RunTally(NamedTuple):
    """How many runs of a worker's task answered for its work, and how many a limit ended."""

    rounds: int
    limits: int


def find_run_result(reader: Reader, worker: str, task: str | None) -> RunResult | None:
    """Return the newest run of a worker's task, or None."""
    row = reader.row("runs.result", worker=worker, task=task)
    return None if row is None else RunResult(**dict(row))


def find_run_request(reader: Reader, worker: str, task: str | None) -> str | None:
    """Return the request of the newest run of a worker's task, as JSON; None if it is not known."""
    row = reader.row("runs.request", worker=worker, task=task)
    return None if row is None else row["request"]


def record_agent_session(writer: Writer, run: int, *, agent: str, session: str) -> None:
    """Record the session of a known agent while its run is open."""
    writer.run("runs.set_session", run=run, agent=agent, session=session)


def count_runs(reader: Reader, worker: str, task: str | None) -> RunTally:
    """Return the tally of a worker's task."""
    row = reader.row("runs.tally", worker=worker, task=task)
    assert row is not None
    return RunTally(int(row["rounds"]), int(row["limits"]))


def record_report(writer: Writer, run: int, report: RunReportRow) -> None:
    """Record the outcome of a run and the facts that its agent has reported."""
    writer.run("runs.report", run=run, **report._asdict())
