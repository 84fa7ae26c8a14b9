"""The newest run of a task, with its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.model.tokens.prices import Cost, Price
    from gitworker.store.api import Reader, Writer


class RunResult(NamedTuple):
    """One run; without `ended_at_ms` it is open. The status is None if it is not known.

    `log_start_bytes` is the size of the agent's log at its beginning, if that is known.
    """

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
    cached_tokens: int | None = None
    model: str | None = None
    log_start_bytes: int | None = None

    def cost(self, prices: Mapping[str, Price]) -> Cost | None:
        """Return the cost: the reported one, else that of its tokens by a table of prices."""
        from gitworker.store.scheduling.usage import Usage  # it is not on the path of `exec`

        usage = Usage(
            self.input_tokens, self.output_tokens, self.cached_tokens, self.cost_usd, self.model
        )
        return usage.cost(prices, self.agent or "")


class RunUsage(NamedTuple):
    """What the runs of one task, project or kind of agent have used.

    `retries` are the runs after the first of each task. `cached_tokens` are a part of the input.
    The time of a run that is open counts until now.
    """

    name: str
    runs: int
    retries: int
    failed: int
    time_ms: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class RunReportRow(NamedTuple):
    """The outcome of a run, and the facts that a known agent has reported; None: not known."""

    outcome: str
    agent: str | None = None
    session: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    model: str | None = None
    failure: str | None = None
    resets_at_ms: int | None = None


class RunTally(NamedTuple):
    """How many runs of a worker's task answered for its work, and how many of the last ones a
    limit of the model's vendor ended.
    """

    rounds: int
    limits: int


def find_run_result(reader: Reader, worker: str, task: str | None) -> RunResult | None:
    """Return the newest run of a worker's task, or None."""
    row = reader.row("runs.result", worker=worker, task=task)
    return None if row is None else RunResult(**dict(row))


def runs_of_task(reader: Reader, task: str) -> list[RunResult]:
    """Return the runs of a task, oldest first."""
    return [RunResult(**dict(row)) for row in reader.rows("runs.of_task", task=task)]


def usage_of_runs(reader: Reader, by: str, *, now: int) -> list[RunUsage]:
    """Return the usage by `task`, `project` or `agent`, the longest time first."""
    return [RunUsage(**dict(row)) for row in reader.rows("runs.usage", by=by, now=now)]


def find_first_counted(reader: Reader) -> int:
    """Return the id of the oldest open run, or without one that of the next run."""
    row = reader.row("runs.first_counted")
    assert row is not None
    return int(row["id"])


def tokens_since(reader: Reader, first: int) -> dict[str, int]:
    """Return the tokens that runs from this id on have used, by worker."""
    rows = reader.rows("runs.tokens_since", first=first)
    return {row["worker_id"]: int(row["tokens"]) for row in rows}


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
