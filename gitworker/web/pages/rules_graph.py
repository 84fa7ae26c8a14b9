"""The places of tasks in a picture of their dependencies: a column for each depth. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.states.task_machine import status_label
from gitworker.tasks.views.rules_graph import SHAPES, depths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.tasks.views.rules_graph import GraphTask

WIDTH, HEIGHT = 190, 46  # of a task
GAP_X, GAP_Y, MARGIN = 56, 14, 8
TEXT_AT_MOST = 26  # characters that fit into a task
TASKS_AT_MOST = 400


class Node(NamedTuple):
    """A task with the upper left corner of its box."""

    task: GraphTask
    kind: str
    x: int
    y: int
    title: str


class Edge(NamedTuple):
    """A curve from a task to one that needs it; `is_dotted`: it must only be handed in."""

    path: str
    is_dotted: bool


class Picture(NamedTuple):
    """The boxes and the curves, and the size of the whole; `left_out` tasks are not drawn."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: int
    height: int
    left_out: int


def picture(tasks: Sequence[GraphTask]) -> Picture:
    """Return the picture of the first tasks."""
    drawn = tasks[:TASKS_AT_MOST]
    depth = depths(drawn)
    rows: dict[int, int] = {}
    places: dict[str, Node] = {}
    for task in drawn:
        column = depth[task.id]
        row = rows[column] = rows.get(column, -1) + 1
        x, y = MARGIN + column * (WIDTH + GAP_X), MARGIN + row * (HEIGHT + GAP_Y)
        kind = SHAPES.get(task.status, "work")
        places[task.id] = Node(task, kind, x, y, _cut(task.title or status_label(task.status)))
    edges = tuple(
        _edge(places[need.task], places[task.id], is_dotted=need.until == "done")
        for task in drawn
        for need in task.needs
        if need.task in places
    )
    width = MARGIN + (max(depth.values(), default=0) + 1) * (WIDTH + GAP_X)
    height = MARGIN + (max(rows.values(), default=0) + 1) * (HEIGHT + GAP_Y)
    return Picture(tuple(places.values()), edges, width, height, len(tasks) - len(drawn))


def _edge(start: Node, end: Node, *, is_dotted: bool) -> Edge:
    x1, y1 = start.x + WIDTH, start.y + HEIGHT // 2
    x2, y2 = end.x, end.y + HEIGHT // 2
    if x2 - x1 == GAP_X:
        middle = (x1 + x2) // 2
        return Edge(f"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}", is_dotted)
    lane = start.y + HEIGHT + GAP_Y // 2  # between the rows, so that no task hides the curve
    near, far, half = x1 + GAP_X, x2 - GAP_X, GAP_X // 2
    return Edge(
        f"M{x1} {y1} C{x1 + half} {y1} {x1 + half} {lane} {near} {lane} L{far} {lane}"
        f" C{x2 - half} {lane} {x2 - half} {y2} {x2} {y2}",
        is_dotted,
    )


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_AT_MOST else text[: TEXT_AT_MOST - 1] + "…"
