"""What `status` and `list` show, read by one query each."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from gitworker.errors import Unavailable
from gitworker.model.ids import Branch, Oid, Ref
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.store.api import Reader, Row


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
    returned_by: str | None = None
    returned_tip: Oid | None = None
    returned_detail: str | None = None
    waits_for_author: bool = False
    worktree: str | None = None
    admin_dir: str | None = None
    task_holder: str | None = None
    paused_at_ms: int | None = None  # since when its agent is paused
    can_repeat: bool | None = None  # the last command of its task is known; None: no agent ran
    agent_end: str | None = None  # why its agent ended, and nothing works as the worker since
    lands_on: Ref | None = None  # the branch of its task's workstream; None: the target
    elsewhere: str | None = None  # the other machine of the fleet that has its worktree

    @property
    def task(self) -> str:
        """Return the task's id; empty for a worker that has none."""
        return self.task_id or ""


class TaskRow(NamedTuple):
    """A task in short."""

    id: str
    title: str
    status: TaskStatus
    status_changed_at_ms: int
    assigned_agent_id: str | None
    retries_left: int
    held: int
    last_error: str | None
    project_id: str


class KnownConflict(NamedTuple):
    """Two branches that conflict at their present tips, and the files."""

    one: Ref
    other: Ref
    files: tuple[str, ...]


def read_worker_rows(reader: Reader) -> list[WorkerRow]:
    """Return every worker by name."""
    return [WorkerRow(**_typed(row)) for row in reader.rows("observe.workers", worker=None)]


def load_worker_row(reader: Reader, worker: str) -> WorkerRow:
    """Return one worker that was recorded; raise Unavailable if its row is missing."""
    row = reader.row("observe.workers", worker=worker)
    if row is None:
        raise Unavailable(f"the database has no row of worker {worker}", "git worker fsck")
    return WorkerRow(**_typed(row))


def read_task_rows(
    reader: Reader,
    statuses: Iterable[TaskStatus],
    *,
    project: str | None = None,
    limit: int | None = None,
) -> list[TaskRow]:
    """Return the first `limit` tasks in these statuses, in their order, the last change first."""
    found: list[TaskRow] = []
    for status in statuses:
        left = -1 if limit is None else limit - len(found)
        if left == 0:
            break
        rows = reader.rows("observe.tasks", status=status, project=project, limit=left)
        found += [TaskRow(status=status, **row) for row in rows]
    return found


def _typed(row: Row) -> dict[str, Any]:
    return {
        **row,
        "state": WorkerState(row["state"]),
        "stale_from": WorkerState(row["stale_from"]) if row["stale_from"] else None,
        "task_status": TaskStatus(row["task_status"]) if row["task_status"] else None,
        "waits_for_author": bool(row["waits_for_author"]),
        "can_repeat": None if row["can_repeat"] is None else bool(row["can_repeat"]),
    }


def count_tasks(reader: Reader) -> list[tuple[str, int]]:
    """Return the number of tasks in each status."""
    return [(row["status"], row["number"]) for row in reader.rows("observe.task_counts")]


def has_workstreams(reader: Reader) -> bool:
    """Return whether there is a workstream that is not archived."""
    row = reader.row("observe.has_workstreams")
    return row is not None and bool(row["found"])


def has_queue(reader: Reader) -> bool:
    """Return whether there are agents, projects with a budget or a cost, or READY tasks."""
    row = reader.row("observe.has_queue")
    return row is not None and bool(row["found"])


def read_known_conflicts(reader: Reader) -> list[KnownConflict]:
    """Return the conflicts of which the branches' authors were warned and that still exist."""
    return [
        KnownConflict(Ref(row["one_ref"]), Ref(row["other_ref"]), tuple(json.loads(row["files"])))
        for row in reader.rows("observe.known_conflicts")
    ]
