"""The title and the text of one task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitworker.store.tasks import find_task, find_task_text

if TYPE_CHECKING:
    from gitworker.session import Session


@dataclass(frozen=True, slots=True)
class TaskText:
    """A task's title and text; each is empty if the task has none."""

    task: str
    title: str
    text: str


def find_text(session: Session, task: str) -> TaskText | None:
    """Return the title and the text of the task with this id, or None."""
    with session.store.read() as reader:
        stored = find_task(reader, task)
        return stored and TaskText(stored.id, stored.title, find_task_text(reader, task))


def json_task_text(found: TaskText) -> dict[str, Any]:
    """Return task, title and text as JSON data."""
    return {"task": found.task, "title": found.title, "text": found.text}
