"""task list: every task by id, with its worker and the next command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.model.task_spec import OpenNeed
from gitworker.observe.text import NOTHING, one_line, table
from gitworker.observe.workers.rules import Reading, is_taken, next_command
from gitworker.store.records.screens import read_short_rows
from gitworker.store.records.task_needs import all_open_needs
from gitworker.store.tasks import StoredTask, all_tasks
from gitworker.store.workers import Worker, all_workers
from gitworker.tasks.projects.change_project import require_project
from gitworker.tasks.rules_task_list import (
    blocked_by_text,
    has_ended,
    json_blocked_by,
    next_without_worker,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from gitworker.model.task import TaskStatus
    from gitworker.session import Session

HEAD = ("TASK", "STATUS", "WORKER", "NEXT", "REASON")


class ListedTask(NamedTuple):
    """One row; `worker` has the task or was the last to have it. `reason` is why it has stopped."""

    task: str
    title: str
    status: TaskStatus
    since_ms: int
    worker: str | None
    next_command: str | None
    reason: str
    blocked_by: tuple[OpenNeed, ...] = ()
    project: str = "default"


class TaskList(NamedTuple):
    """The tasks by id."""

    tasks: tuple[ListedTask, ...]


def read_tasks(
    session: Session, statuses: Collection[TaskStatus] = (), *, project: str | None = None
) -> TaskList:
    """Read every task, or those in one of the statuses and of a project, in one snapshot.

    Raises NotFound for an unknown project.
    """
    reading = Reading(session.actor, session.settings.review_self)
    with session.store.read() as reader:
        if project is not None:
            require_project(reader, project)
        workers: dict[str, Worker] = {}
        for one in sorted(all_workers(reader), key=lambda one: one.state_changed_at_ms):
            if one.task_id:
                workers[one.task_id] = one
        open_needs = all_open_needs(reader)
        repeatable = {row.worker_id for row in read_short_rows(reader) if row.can_repeat}
        return TaskList(
            tuple(
                _listed(
                    task,
                    workers.get(task.id),
                    tuple(open_needs.get(task.id, ())),
                    reading=reading,
                    repeatable=repeatable,
                )  # fmt: skip
                for task in all_tasks(reader)
                if (not statuses or task.status in statuses) and project in (None, task.project_id)
            )
        )


def render_tasks(found: TaskList, *, width: int | None, color: bool) -> str:
    """Return a table for a terminal; without a width, bare rows separated by tabs for scripts."""
    rows = [
        (one.task, one.status.value, one.worker or NOTHING, one.next_command or NOTHING, one.reason)
        for one in found.tasks
    ]
    if width is None:
        return "\n".join("\t".join(map(one_line, row)) for row in rows)
    if not rows:
        return "no such task: git worker status"
    return "\n".join(table(HEAD, rows, width=width, color=color))


def json_tasks(found: TaskList) -> dict[str, Any]:
    """Return the tasks as JSON data."""
    return {
        "tasks": [
            {
                "task": one.task, "title": one.title, "status": one.status.value,
                "since": clock.iso_utc(one.since_ms), "worker": one.worker,
                "reason": one.reason or None, "next": one.next_command,
                "blocked_by": json_blocked_by(one.blocked_by), "project": one.project,
            }
            for one in found.tasks
        ]
    }  # fmt: skip


def _listed(
    task: StoredTask,
    worker: Worker | None,
    waits_for: tuple[OpenNeed, ...],
    *,
    reading: Reading,
    repeatable: Collection[str],
) -> ListedTask:
    if worker is not None and not has_ended(task.status):
        command: str | None = next_command(
            worker.worker_id, worker.state, task_status=task.status, stale_from=worker.stale_from,
            returned_by=worker.returned_by, waits_for_author=worker.waits_for_author,
            is_taken=is_taken(worker.worker_id, task.assigned_agent_id),
            can_repeat=worker.worker_id in repeatable,
            reader=reading,
        )  # fmt: skip
    else:
        command = next_without_worker(
            task.id,
            task.status,
            waits_for=[need.task for need in waits_for],
            retries_left=task.retries_left,
            held=task.held,
        )
    reason = "is held back" if task.held else task.last_error or ""
    if waits_for:
        reason = f"waits for {blocked_by_text(waits_for)}"
    return ListedTask(
        task.id, task.title, task.status, task.status_changed_at_ms,
        worker.worker_id if worker else task.assigned_agent_id, command, reason, waits_for,
        task.project_id,
    )  # fmt: skip
