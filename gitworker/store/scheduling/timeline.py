"""The runs of agents and the transitions of workers since a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.tokens.token_times import read_times
from gitworker.model.worker import WorkerEvent, WorkerState

if TYPE_CHECKING:
    from gitworker.store.api import Reader

RUNS_BEFORE = 500  # before the first run of the time, those that may have lasted into it


class TimedRun(NamedTuple):
    """One run with its use; without `ended_at_ms` it is open. An unknown agent is `command`.

    `token_times` has the tokens that were reported in a quarter of an hour, by its beginning.
    """

    id: int
    worker_id: str
    task_id: str | None
    project_id: str
    agent: str
    model: str | None
    started_at_ms: int
    ended_at_ms: int | None
    outcome: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    cost_usd: float | None
    token_times: list[tuple[int, int]]


class WorkerMove(NamedTuple):
    """One transition of a worker; `is_undo`: an undo made it."""

    seq: int
    ts_ms: int
    worker_id: str
    task_id: str | None
    from_state: WorkerState
    event: WorkerEvent
    to_state: WorkerState
    actor: str
    is_undo: bool


def runs_since(
    reader: Reader, since_ms: int, *, limit: int, before: int = RUNS_BEFORE
) -> list[TimedRun]:
    """Return the runs that are open or ended since a time, newest first.

    Of those that began before the time, the last `before` are looked at, and all open ones.
    """
    rows = reader.rows("timeline.runs", since=since_ms, before=-before, limit=limit)
    return [TimedRun(**{**row, "token_times": read_times(row["token_times"])}) for row in rows]


def moves_since(reader: Reader, since_ms: int, *, limit: int) -> list[WorkerMove]:
    """Return the transitions of workers since a time, newest first."""
    found = []
    for row in reader.rows("timeline.moves", since=since_ms, limit=limit):
        states = WorkerState(row["from_state"]), WorkerEvent(row["event"])
        found.append(
            WorkerMove(
                row["seq"], row["ts_ms"], row["worker_id"], row["task_id"], *states,
                WorkerState(row["to_state"]), row["actor"], bool(row["is_undo"]),
            )
        )  # fmt: skip
    return found
