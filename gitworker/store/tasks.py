"""Tasks as stored: rows as named tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.task import LifecycleState, TaskStatus
from gitworker.store.api import Reader, Row, Writer

if TYPE_CHECKING:
    from gitworker.states.task_view import LifecyclePosition

PROJECT = "default"  # the one of this repository


class StoredTask(NamedTuple):
    """One task's row. Times are epoch milliseconds."""

    id: str
    title: str
    status: TaskStatus
    priority: int
    held: bool
    version: int
    status_changed_at_ms: int
    retry_count: int
    max_retries: int
    recovery_count: int
    requires_approval: bool
    assigned_agent_id: str | None
    branch_name: str | None
    resume_after_ms: int | None
    workstream_id: str | None
    critical: bool
    pr_url: str | None
    last_error: str | None
    view: LifecyclePosition
    created_at_ms: int
    started_at_ms: int | None
    completed_at_ms: int | None
    project_id: str = "default"
    tokens_used: int = 0

    @property
    def retries_left(self) -> bool:
        """Return whether another attempt is allowed after a failure."""
        return self.retry_count < self.max_retries


def find_task(reader: Reader, task: str) -> StoredTask | None:
    """Return the task with this id, or None."""
    row = reader.row("tasks.by_id", task=task)
    return None if row is None else _task(row)


def all_tasks(reader: Reader) -> list[StoredTask]:
    """Return every task by id."""
    return [_task(row) for row in reader.rows("tasks.all")]


def find_task_text(reader: Reader, task: str) -> str:
    """Return the text of a task, which can be large; empty if the task has none."""
    row = reader.row("tasks.text", task=task)
    return "" if row is None else str(row["description"])


def all_task_ids(reader: Reader) -> list[str]:
    """Return the ids of all tasks."""
    return [row["id"] for row in reader.rows("tasks.ids")]


def open_dependencies(reader: Reader, task: str) -> list[str]:
    """Return the ids of the dependencies that are neither satisfied nor waived."""
    return [row["id"] for row in reader.rows("tasks.open_dependencies", task=task)]


def dependencies(reader: Reader, task: str) -> list[str]:
    """Return the ids of the tasks that must land before a task begins."""
    return [row["id"] for row in reader.rows("tasks.dependencies", task=task)]


def require_stored_task(reader: Reader, task: str) -> StoredTask:
    """Return a task that must exist."""
    row = reader.row("tasks.by_id", task=task)
    assert row is not None, task
    return _task(row)


def withdrawn_since(reader: Reader, actor: str, since_ms: int) -> tuple[str, TaskStatus] | None:
    """Return the last task that an actor cancelled or skipped later than a time, or None.

    A workstream that ends, or has no other open task, cancels tasks by itself: they do not count.
    """
    row = reader.row("tasks.withdrawn_since", actor=actor, since=since_ms)
    return None if row is None else (row["id"], TaskStatus(row["status"]))


def is_skipped(reader: Reader, task: str) -> bool:
    """Return whether a person has completed a task without its work."""
    return reader.row("tasks.skipped", task=task) is not None


def due_retries(reader: Reader, now: int) -> list[str]:
    """Return the ids of the failed tasks whose back-off is over."""
    return [row["id"] for row in reader.rows("tasks.due_retries", now=now)]


def unblocked_tasks(reader: Reader, limit: int) -> list[str]:
    """Return the first DEFINED tasks without an open dependency, in the order of the queue."""
    return [row["id"] for row in reader.rows("tasks.unblocked", limit=limit)]


def has_due_questions(reader: Reader, now: int) -> bool:
    """Return whether time or a message on the bus has settled a question of a task."""
    return reader.row("questions.due", now=now) is not None


def next_retry_ms(reader: Reader) -> int | None:
    """Return the time of the next retry of a failed task; None without one."""
    row = reader.row("tasks.next_retry")
    return None if row is None or row["at_ms"] is None else int(row["at_ms"])


def blocked_with(reader: Reader, error: str) -> list[str]:
    """Return the ids of the BLOCKED tasks with this last error."""
    return [row["id"] for row in reader.rows("tasks.blocked_by", error=error)]


def add_task(
    writer: Writer, task: str, *, title: str, requires_approval: int, max_retries: int, now: int
) -> None:
    """Insert a DEFINED task."""
    writer.run(
        "tasks.insert",
        task=task, title=title, requires_approval=requires_approval, max_retries=max_retries,
        now=now,
    )  # fmt: skip


def assign_task(writer: Writer, task: str, *, agent: str | None, branch: str | None) -> None:
    """Record the agent and the branch of a task."""
    writer.run("tasks.set_assigned", task=task, agent=agent, branch=branch)


def set_task_retry(writer: Writer, task: str, *, count: int, resume_after_ms: int | None) -> None:
    """Record how many retries a task has had, and when the next one is due."""
    writer.run("tasks.set_retry", task=task, retry_count=count, resume_after_ms=resume_after_ms)


def set_task_error(writer: Writer, task: str, error: str) -> None:
    """Record why a task failed."""
    writer.run("tasks.set_error", task=task, error=error)


def set_task_title(writer: Writer, task: str, title: str) -> None:
    """Record the title of a task."""
    writer.run("tasks.set_title", task=task, title=title)


def set_task_text(writer: Writer, task: str, text: str) -> None:
    """Record the text of a task: the work to do, in words."""
    writer.run("tasks.set_text", task=task, text=text)


def _task(row: Row) -> StoredTask:
    from gitworker.states.task_view import LifecyclePosition  # 2 ms, not for `status`

    values = dict(row)
    values["status"] = TaskStatus(values["status"])
    values["requires_approval"] = bool(values["requires_approval"])
    values["held"] = bool(values["held"])
    values["critical"] = bool(values["critical"])
    view = LifecyclePosition(values.pop("incarnation"), LifecycleState(values["view"]))
    values["view"] = view
    return StoredTask(**values)
