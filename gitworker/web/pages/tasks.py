"""Tasks: the picture of their dependencies, and the list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.web.pages.rules_graph import HEIGHT, WIDTH, picture

if TYPE_CHECKING:
    from gitworker.web.request import Ask

TASKS_SHOWN = 200


def read(ask: Ask) -> dict[str, Any]:
    """Return the picture and the list; with `all`, also the tasks that have ended."""
    every = ask.query.get("all") == "1"
    return {
        "picture": picture(ask.service.task_graph(every=every).tasks), "every": every,
        "tasks": ask.service.list_tasks(limit=TASKS_SHOWN), "box": (WIDTH, HEIGHT),
    }  # fmt: skip
