"""The graph of tasks as a tree and as a Mermaid diagram. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.task import TaskStatus
from gitworker.states.task_machine import has_ended, status_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitworker.model.task_spec import Need

INDENT_MAX = 30  # levels; deeper ones are not indented further
SHAPES = {
    TaskStatus.COMPLETED: "done", TaskStatus.BLOCKED: "stopped", TaskStatus.FAILED: "stopped",
    TaskStatus.CANCELLED: "stopped", TaskStatus.DEFINED: "waits", TaskStatus.READY: "ready",
}  # fmt: skip
STYLES = (
    "classDef done fill:#cfc", "classDef stopped fill:#fcc", "classDef ready fill:#cef",
    "classDef work fill:#ffc",
)  # fmt: skip


class GraphTask(NamedTuple):
    """A task of the graph."""

    id: str
    title: str
    status: TaskStatus
    needs: tuple[Need, ...]


def chosen_tasks(tasks: Sequence[GraphTask], *, root: str | None, every: bool) -> list[GraphTask]:
    """Return the tasks to draw: all around `root`, else those that have not ended, else all."""
    if root is not None:
        around = _around(tasks, root)
        return [task for task in tasks if task.id in around]
    return [task for task in tasks if every or not has_ended(task.status)]


def tree_lines(tasks: Sequence[GraphTask]) -> list[str]:
    """Return a line for each task below the first one that it needs, indented.

    A task with several needs is drawn once, below the last of them, and names the others.
    """
    known = {task.id: task for task in tasks}
    below: dict[str, list[str]] = {}
    roots = []
    order = depths(tasks)
    for task in tasks:
        needed = [need.task for need in task.needs if need.task in known]
        if needed:
            below.setdefault(max(needed, key=lambda one: order[one]), []).append(task.id)
        else:
            roots.append(task.id)
    lines = []
    stack = [(root, 0) for root in reversed(roots)]
    while stack:
        name, depth = stack.pop()
        lines.append(_line(known[name], depth, many=len(known[name].needs) > 1))
        stack += [(one, depth + 1) for one in reversed(below.get(name, []))]
    return lines


def mermaid_lines(tasks: Sequence[GraphTask]) -> list[str]:
    """Return a Mermaid diagram; a dotted arrow leads from work that must only be handed in."""
    number = {task.id: f"t{at}" for at, task in enumerate(tasks)}
    lines = ["graph TD"]
    for task in tasks:
        words = f"{task.id}: {task.title}" if task.title else task.id
        shape = SHAPES.get(task.status, "work")
        lines.append(f'  {number[task.id]}["{_escaped(words)}"]:::{shape}')
    for task in tasks:
        for need in task.needs:
            if need.task in number:
                arrow = "-.->" if need.until == "done" else "-->"
                lines.append(f"  {number[need.task]} {arrow} {number[task.id]}")
    return [*lines, *(f"  {style}" for style in STYLES)]


def _around(tasks: Sequence[GraphTask], root: str) -> set[str]:
    """Return the tasks that lead to a task and from it, and the task itself."""
    up = {task.id: [need.task for need in task.needs] for task in tasks}
    down: dict[str, list[str]] = {}
    for task, needed in up.items():
        for one in needed:
            down.setdefault(one, []).append(task)
    return _reached(up, root) | _reached(down, root)


def _reached(graph: Mapping[str, Iterable[str]], root: str) -> set[str]:
    found, queue = {root}, [root]
    for node in queue:
        for other in graph.get(node, ()):
            if other not in found:
                found.add(other)
                queue.append(other)
    return found


def depths(tasks: Sequence[GraphTask]) -> dict[str, int]:
    """Return the length of the longest way to each task; there is no cycle."""
    waits = {task.id: 0 for task in tasks}
    below: dict[str, list[str]] = {}
    for task in tasks:
        for need in task.needs:
            if need.task in waits:
                waits[task.id] += 1
                below.setdefault(need.task, []).append(task.id)
    depth = {task.id: 0 for task in tasks}
    queue = [name for name, number in waits.items() if not number]
    for name in queue:
        for other in below.get(name, ()):
            depth[other] = max(depth[other], depth[name] + 1)
            waits[other] -= 1
            if not waits[other]:
                queue.append(other)
    return depth


def _line(task: GraphTask, depth: int, *, many: bool) -> str:
    title = f"  {task.title}" if task.title else ""
    needs = f"  (needs {', '.join(need.task for need in task.needs)})" if many else ""
    return f"{'  ' * min(depth, INDENT_MAX)}{task.id}  {status_label(task.status)}{title}{needs}"


def _escaped(text: str) -> str:
    """Return text for a Mermaid label in quotes: entities instead of its own characters."""
    return "".join(one if one.isalnum() or one in " -_.,:" else f"#{ord(one)};" for one in text)
