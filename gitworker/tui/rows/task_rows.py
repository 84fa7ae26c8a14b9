"""The tasks as rows: a list or the tree of their dependencies, and one task."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.states.task_machine import status_label
from gitworker.tasks.rules_task_list import blocked_by_text
from gitworker.tasks.views.rules_graph import SHAPES, tree_lines
from gitworker.tasks.views.show_task import render_task
from gitworker.tui.rows.list_rows import text_rows
from gitworker.tui.rows.row import BAD, BOLD, DIM, GOOD, HEAD, NOTED, Part, age, row, title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitworker.tasks.task_list import ListedTask, TaskList
    from gitworker.tasks.views.graph import TaskGraph
    from gitworker.tasks.views.show_task import ShownTask
    from gitworker.tui.rows.row import Row

INDENT = " " * 4
STYLES = {"done": DIM, "stopped": BAD, "waits": DIM, "ready": HEAD, "work": GOOD}
NO_TASK = "No task is open; z shows the ended ones, too."
NO_MATCH = "No task matches; / changes the filter, Esc removes it."


class TaskKey(NamedTuple):
    """The key of a task."""

    task: str


def task_rows(found: TaskList, *, words: Sequence[str], now_ms: int) -> list[Row]:
    """Return the list; with `words` only the tasks whose texts have all of them."""
    tasks = [one for one in found.tasks if _has(one, words)]
    rows = [part for one in tasks for part in _task(one, now_ms)]
    if not rows:
        rows.append(row(Part(NO_MATCH if words else NO_TASK, DIM)))
    if found.has_more:
        rows.append(row(Part("There are more: git worker task list --all, or / for a filter", DIM)))
    return rows


def _has(one: ListedTask, words: Sequence[str]) -> bool:
    text = f"{one.task} {one.title} {one.worker or ''} {one.project}".casefold()
    return all(word.casefold() in text for word in words)


def _task(one: ListedTask, now_ms: int) -> Iterator[Row]:
    style = STYLES[SHAPES.get(one.status, "work")]
    facts = [age(now_ms, one.since_ms), one.worker or "", one.project]
    yield row(
        Part(one.task, BOLD), " ", Part(status_label(one.status), style), f"  {one.title}  ",
        Part(", ".join(filter(None, facts)), DIM), key=TaskKey(one.task),
    )  # fmt: skip
    if one.blocked_by:
        yield row(INDENT, Part(f"needs {blocked_by_text(one.blocked_by)}", NOTED))
    elif one.reason:
        yield row(INDENT, Part(one.reason, BAD))
    if one.next_command:
        yield row(INDENT, Part(one.next_command, DIM))


def tree_rows(graph: TaskGraph) -> list[Row]:
    """Return the tree of the dependencies; the first word of each line is its task."""
    lines = tree_lines(graph.tasks)
    return [row(one, key=TaskKey(one.split()[0])) for one in lines] or [row(Part(NO_TASK, DIM))]


def shown_task_rows(found: ShownTask, graph: TaskGraph) -> list[Row]:
    """Return the fields and the text of a task, and the tree around it."""
    fields = text_rows(render_task(found, width=None, color=False).split("\n"))
    around = tree_rows(graph) if len(graph.tasks) > 1 else []
    return [*fields, row(), title("Around it"), *around] if around else fields
