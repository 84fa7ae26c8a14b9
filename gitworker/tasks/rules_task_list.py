"""The next command for a task without a worker. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.model.task import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

ENDED = frozenset({TaskStatus.COMPLETED, TaskStatus.CANCELLED})
STOPPED = frozenset({TaskStatus.BLOCKED, TaskStatus.FAILED})
ASSIGNABLE = frozenset({TaskStatus.DEFINED, TaskStatus.READY, *STOPPED})


def has_ended(status: TaskStatus) -> bool:
    """Return whether nothing is left to do for a task."""
    return status in ENDED


def next_without_worker(
    task: str, status: TaskStatus, *, waits_for: Sequence[str], retries_left: bool
) -> str | None:
    """Return the command that continues a task that no worker has, or None."""
    if status is TaskStatus.CANCELLED:
        return "git worker undo --list   # undo its cancel by number"
    if status not in ASSIGNABLE or waits_for:
        return None
    if status in STOPPED and not retries_left:
        return f"git worker spawn <worker> <task>   # {task} has no retries left"
    return f"git worker spawn '<worker>' {task}"
