"""Landings as stored: one row for each worker's task that the target received."""

import json
from collections.abc import Collection
from typing import NamedTuple

from gitworker.model.ids import Oid, Ref, TaskId, WorkerId
from gitworker.store.api import Reader, Row, Writer


class Landing(NamedTuple):
    """The move of a target from `target_old` to `target_new`, by a branch at `branch_old`."""

    worker_id: WorkerId
    task_id: TaskId
    target_ref: Ref
    target_old: Oid
    target_new: Oid
    branch_old: Oid
    landed_at_ms: int


def record_landing(writer: Writer, operation: int, landing: Landing, *, branch: str | None) -> None:
    """Record the landing that an operation made."""
    writer.run(
        "landings.insert",
        operation=operation, branch=branch, worker=landing.worker_id, task=landing.task_id,
        target_ref=landing.target_ref, target_old=landing.target_old,
        target_new=landing.target_new, branch_old=landing.branch_old, now=landing.landed_at_ms,
    )  # fmt: skip


def mark_undone(writer: Writer, operation: int, *, worker: str, task: str, now: int) -> None:
    """Record that the landing of an operation was undone.

    Operations of different machines of a fleet may have the same number.
    """
    writer.run("landings.mark_undone", operation=operation, worker=worker, task=task, now=now)


def all_landings(reader: Reader) -> list[Landing]:
    """Return every landing that was not undone, oldest first."""
    return [_landing(row) for row in reader.rows("landings.all")]


def landings_on(reader: Reader, target: Ref) -> list[Landing]:
    """Return the landings on one target that were not undone, oldest first."""
    return [_landing(row) for row in reader.rows("landings.on_target", target=target)]


def landed_by(reader: Reader, tasks: Collection[str]) -> dict[str, str]:
    """Return the worker that landed each of these tasks, at a cost for tasks times workers."""
    if not tasks:
        return {}
    rows = reader.rows("landings.of_tasks", tasks=json.dumps(list(tasks)))
    return {row["task_id"]: row["worker_id"] for row in rows}


def find_landing(reader: Reader, worker: str, task: str | None) -> Landing | None:
    """Return the newest landing of a worker's task that was not undone, or None."""
    row = reader.row("landings.of_task", worker=worker, task=task)
    return None if row is None else _landing(row)


def _landing(row: Row) -> Landing:
    return Landing(**row)
