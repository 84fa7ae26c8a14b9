"""The next command for a task without a worker. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.task import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.model.task_spec import OpenNeed

STOPPED = frozenset({TaskStatus.BLOCKED, TaskStatus.FAILED})
LISTED = (  # those that wait for a person, at work, to come, ended
    TaskStatus.WAITING_INPUT, TaskStatus.FAILED, TaskStatus.BLOCKED, TaskStatus.AWAITING_APPROVAL,
    TaskStatus.VERIFYING, TaskStatus.PAUSED, TaskStatus.IN_PROGRESS, TaskStatus.ASSIGNED,
    TaskStatus.READY, TaskStatus.DEFINED, TaskStatus.COMPLETED, TaskStatus.CANCELLED,
)  # fmt: skip
# The last error of such a task is of an earlier attempt.
GOING_ON = frozenset(
    {
        TaskStatus.ASSIGNED, TaskStatus.IN_PROGRESS, TaskStatus.WAITING_INPUT, TaskStatus.PAUSED,
        TaskStatus.VERIFYING, TaskStatus.AWAITING_APPROVAL, TaskStatus.COMPLETED,
    }
)  # fmt: skip
ASSIGNABLE = frozenset({TaskStatus.DEFINED, TaskStatus.READY, *STOPPED})


class Why(NamedTuple):
    """The reason in words, and the command that helps; None if no command is needed."""

    reason: str
    command: str | None


def next_without_worker(
    task: str,
    status: TaskStatus,
    *,
    waits_for: Sequence[str],
    retries_left: bool,
    held: bool = False,
) -> str | None:
    """Return the command that continues a task that no worker has, or None."""
    if status is TaskStatus.CANCELLED:
        return f"git worker task restart {task}   # or undo it: git worker undo --list"
    if status not in ASSIGNABLE or waits_for:
        return None
    if held:
        return f"git worker task release {task}"
    if status in STOPPED and not retries_left:
        return f"git worker task restart {task}"
    return f"git worker spawn '<worker>' {task}"


def shows_error(status: TaskStatus) -> bool:
    """Return whether the last error of a task is the reason for its present status."""
    return status not in GOING_ON


def blocked_by_text(needs: Sequence[OpenNeed]) -> str:
    """Return the tasks that a task waits for, with the status of those that have stopped."""
    return ", ".join(
        f"{need.task} ({need.status or 'does not exist'})" if is_stuck(need.status) else need.task
        for need in needs
    )


def json_blocked_by(needs: Sequence[OpenNeed]) -> list[dict[str, str | None]]:
    """Return open needs as JSON data; a status of null is a task that does not exist."""
    return [
        {"task": need.task, "until": need.until, "status": need.status and need.status.value}
        for need in needs
    ]


def is_stuck(status: TaskStatus | None) -> bool:
    """Return whether a needed task has stopped or does not exist, so that only a person helps."""
    return status is None or status in STOPPED or status is TaskStatus.CANCELLED
