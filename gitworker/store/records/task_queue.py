"""The queue of tasks: those that may start now.

An index has exactly these tasks by project, so that the first ones cost the same among 100,000
tasks.
"""

import json
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from gitworker.model.task import TaskStatus
from gitworker.store.api import Reader, Writer
from gitworker.store.scheduling.projects import open_projects


class QueuedTask(NamedTuple):
    """A task that may start now; `position` is its place in its plan.

    `kind` is the agent that it names, a space, and the capabilities that it requires as JSON.
    """

    id: str
    title: str
    priority: int
    created_at_ms: int
    position: int = 0
    project_id: str = "default"
    kind: str = " []"

    @property
    def order(self) -> tuple[int, int, int, str]:
        """Return its place in the order of the queue."""
        return self.priority, self.created_at_ms, self.position, self.id


def ready_tasks(reader: Reader, limit: int) -> list[QueuedTask]:
    """Return the first tasks that may start: by priority, age, and place in their plan.

    They are READY, not held, and have no open dependency, or a restart has waived it. Their project
    is ACTIVE and below its budget.
    """
    projects = open_projects(reader)
    found = [task for project in projects for task in ready_tasks_of(reader, project, limit)]
    if len(projects) > 1:
        found.sort(key=lambda one: one.order)
    return found[:limit]


def ready_tasks_of(
    reader: Reader, project: str, limit: int, *, besides: Collection[str] = ()
) -> list[QueuedTask]:
    """Return the first tasks of one project that may start, ignoring the project's own limits.

    Tasks that declare one of the lists of paths `besides`, JSON arrays, are left out.
    """
    rows = reader.rows(
        "task_queue.ready_of_project", project=project, limit=limit,
        besides=json.dumps(sorted(besides)),
    )  # fmt: skip
    return [QueuedTask(**row) for row in rows]


def ready_kinds_of(reader: Reader, project: str, limit: int) -> list[str]:
    """Return the first kinds of the tasks of one project that may start."""
    return [
        row["kind"] for row in reader.rows("task_queue.ready_kinds", project=project, limit=limit)
    ]


def ready_tasks_of_kind(reader: Reader, project: str, kind: str, limit: int) -> list[QueuedTask]:
    """Return the first tasks of one kind and project that may start."""
    rows = reader.rows("task_queue.ready_of_kind", project=project, kind=kind, limit=limit)
    return [QueuedTask(**row) for row in rows]


def count_by_status(reader: Reader) -> dict[TaskStatus, int]:
    """Return the number of tasks in each status that has some."""
    found: Counter[TaskStatus] = Counter()
    for statuses in count_by_project(reader).values():
        found.update(statuses)
    return dict(found)


def count_by_project(reader: Reader) -> dict[str, dict[TaskStatus, int]]:
    """Return the same for each project that has tasks."""
    found: dict[str, dict[TaskStatus, int]] = {}
    for row in reader.rows("task_queue.counts"):
        found.setdefault(row["project_id"], {})[TaskStatus(row["status"])] = row["number"]
    return found


def set_held(writer: Writer, task: str, *, held: bool) -> bool:
    """Hold a task back, or release it; return whether that changed it."""
    return writer.run("task_queue.set_held", task=task, held=int(held)) > 0


def waive_needs(writer: Writer, task: str) -> None:
    """Count the dependencies of a task no longer."""
    writer.run("task_queue.waive", task=task)
