"""task graph: the tasks with their dependencies, as a tree or a Mermaid diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.observe.text import one_line
from gitworker.store.records.task_needs import all_needs
from gitworker.store.tasks import all_tasks
from gitworker.tasks.queue.add_task import require_task
from gitworker.tasks.queue.rules_needs import need_text
from gitworker.tasks.views.rules_graph import (
    GraphTask,
    chosen_tasks,
    mermaid_lines,
    tree_lines,
)

if TYPE_CHECKING:
    from gitworker.session import Session


class TaskGraph(NamedTuple):
    """The tasks to draw, by id."""

    tasks: tuple[GraphTask, ...]


def read_graph(session: Session, task: str | None = None, *, every: bool = False) -> TaskGraph:
    """Read the tasks that have not ended; all with `every`; only those around a `task`, if given.

    Raises NotFound for an unknown task.
    """
    with session.store.read() as reader:
        if task is not None:
            require_task(reader, task)
        needs = all_needs(reader)
        tasks = [
            GraphTask(one.id, one.title, one.status, tuple(needs.get(one.id, ())))
            for one in all_tasks(reader)
        ]
    return TaskGraph(tuple(chosen_tasks(tasks, root=task, every=every)))


def render_graph(found: TaskGraph, *, width: int | None, color: bool) -> str:
    """Return the tree."""
    return "\n".join(map(one_line, tree_lines(found.tasks)))


def render_mermaid(found: TaskGraph, *, width: int | None, color: bool) -> str:
    """Return the Mermaid diagram."""
    return "\n".join(mermaid_lines(found.tasks))


def json_graph(found: TaskGraph) -> dict[str, Any]:
    """Return the tasks with their needs as JSON data."""
    return {
        "tasks": [
            {
                "task": one.id, "title": one.title, "status": one.status.value,
                "needs": [need_text(need) for need in one.needs],
            }
            for one in found.tasks
        ]
    }  # fmt: skip
