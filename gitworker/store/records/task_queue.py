"""The queue of tasks: those that may start now.

An index has exactly these tasks, so that the first ones cost the same among 100,000 tasks.
"""

from typing import NamedTuple

from gitworker.model.task import TaskStatus
from gitworker.store.api import Reader, Writer


class QueuedTask(NamedTuple):
    """A task that may start now."""

    id: str
    title: str
    priority: int
    created_at_ms: int


def ready_tasks(reader: Reader, limit: int) -> list[QueuedTask]:
    """Return the first tasks that may start: by priority, age, and place in their plan.

    They are READY, not held, and have no open dependency, or a restart has waived it.
    """
    return [QueuedTask(**row) for row in reader.rows("task_queue.ready", limit=limit)]


def count_by_status(reader: Reader) -> dict[TaskStatus, int]:
    """Return the number of tasks in each status that has some."""
    rows = reader.rows("task_queue.count_by_status")
    return {TaskStatus(row["status"]): row["number"] for row in rows}


def set_held(writer: Writer, task: str, *, held: bool) -> bool:
    """Hold a task back, or release it; return whether that changed it."""
    return writer.run("task_queue.set_held", task=task, held=int(held)) > 0


def waive_needs(writer: Writer, task: str) -> None:
    """Count the dependencies of a task no longer."""
    writer.run("task_queue.waive", task=task)
