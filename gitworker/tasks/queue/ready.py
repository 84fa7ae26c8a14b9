"""task ready: the tasks that may start now, in the order in which they would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.observe.text import NOTHING, age_text, listing
from gitworker.store.records.task_queue import QueuedTask, ready_tasks

if TYPE_CHECKING:
    from gitworker.session import Session

HEAD = ("TASK", "PRIORITY", "AGE", "TITLE")


class ReadyTasks(NamedTuple):
    """The first tasks that may start, and whether there are more."""

    tasks: tuple[QueuedTask, ...]
    has_more: bool
    now_ms: int


def read_ready(session: Session, limit: int) -> ReadyTasks:
    """Read the first tasks that may start, by priority, age, and place in their plan."""
    with session.store.read() as reader:
        found = ready_tasks(reader, limit + 1)
    return ReadyTasks(tuple(found[:limit]), len(found) > limit, clock.now_ms())


def render_ready(found: ReadyTasks, *, width: int | None, color: bool) -> str:
    """Return a table for a terminal; without a width, bare rows separated by tabs for scripts."""
    rows = [
        (one.id, str(one.priority), age_text(found.now_ms - one.created_at_ms),
         one.title or NOTHING)
        for one in found.tasks
    ]  # fmt: skip
    empty = "no task may start now: git worker task list"
    more = ["there are more: git worker task ready -n 1000"] if found.has_more else []
    return listing(HEAD, rows, width=width, color=color, empty=empty, last=more)


def json_ready(found: ReadyTasks) -> dict[str, Any]:
    """Return the tasks as JSON data."""
    return {
        "tasks": [
            {
                "task": one.id, "title": one.title, "priority": one.priority,
                "created": clock.iso_utc(one.created_at_ms),
            }
            for one in found.tasks
        ],
        "more": found.has_more,
    }  # fmt: skip
