"""One task: its text, its needs and its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.web.pages.rules_graph import HEIGHT, WIDTH, picture

if TYPE_CHECKING:
    from gitworker.web.request import Ask


def read(ask: Ask) -> dict[str, Any]:
    """Return the task and the picture of the tasks around it."""
    name = ask.path["task"]
    found = ask.service.show_task(name)
    around = picture(ask.service.task_graph(name).tasks)
    return {"task": found, "picture": around, "box": (WIDTH, HEIGHT)}
