"""What `status` and `list` show, read by one query each."""

from typing import NamedTuple

from gitworker.model.ids import Branch, Oid
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.store.api import Reader


class WorkerRow(NamedTuple):
    """A worker with its task's status, its last heartbeat, and the worker it is stacked on.

    `progress` is the one that was reported for its present task.
    """

    worker_id: str
    state: WorkerState
    state_changed_at_ms: int
    task_id: str | None
    branch: Branch | None
    base_oid: Oid | None
    stale_from: WorkerState | None
    last_error: str | None
    task_status: TaskStatus | None
    beat_ms: int | None
    mono_ms: int | None
    boot_id: str | None
    host: str | None
    progress: float | None
    parent: str | None


class ShortWorkerRow(NamedTuple):
    """A worker in short."""

    worker_id: str
    state: WorkerState
    task_id: str | None
    branch: Branch | None


def read_worker_rows(reader: Reader) -> list[WorkerRow]:
    """Return every worker by name."""
    return [
        WorkerRow(
            **{
                **row,
                "state": WorkerState(row["state"]),
                "stale_from": WorkerState(row["stale_from"]) if row["stale_from"] else None,
                "task_status": TaskStatus(row["task_status"]) if row["task_status"] else None,
            }
        )
        for row in reader.rows("observe.seats")
    ]


def read_short_rows(reader: Reader) -> list[ShortWorkerRow]:
    """Return every worker in short, by name."""
    rows = reader.rows("observe.list")
    return [ShortWorkerRow(**{**row, "state": WorkerState(row["state"])}) for row in rows]


def count_tasks(reader: Reader) -> list[tuple[str, int]]:
    """Return the number of tasks in each status."""
    return [(row["status"], row["number"]) for row in reader.rows("observe.task_counts")]
