"""Commands of a person on a task: the statuses in which each is possible. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError, Refused
from gitworker.model.task import TaskEvent, TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.states.task_machine import VALID_TASK_TRANSITIONS, has_ended, status_words

if TYPE_CHECKING:
    from collections.abc import Mapping

S = TaskStatus
RESTART, STOP = TaskEvent.ADMIN_RESTART, TaskEvent.ADMIN_STOP
SKIP, CANCEL = TaskEvent.ADMIN_SKIP, TaskEvent.USER_CANCELLED
IN_HAND = frozenset(
    {S.ASSIGNED, S.IN_PROGRESS, S.WAITING_INPUT, S.PAUSED, S.VERIFYING, S.AWAITING_APPROVAL}
)
QUEUED = frozenset({S.DEFINED, S.READY})
# A worker at work can be stopped; with work in review, too.
STOPPABLE = IN_HAND - {S.ASSIGNED}
VERBS: Mapping[TaskEvent, str] = {
    RESTART: "restarted", STOP: "stopped", SKIP: "skipped", CANCEL: "cancelled",
}  # fmt: skip


def is_in_hand(status: TaskStatus) -> bool:
    """Return whether a worker has the task."""
    return status in IN_HAND


def skips_dependencies(status: TaskStatus) -> bool:
    """Return whether a restart of a task waives its dependencies."""
    return status in QUEUED


def is_done_already(event: TaskEvent, status: TaskStatus) -> bool:
    """Return whether a task is as the command would make it."""
    done = {
        RESTART: S.READY, STOP: S.BLOCKED, SKIP: S.COMPLETED, CANCEL: S.CANCELLED,
    }  # fmt: skip
    return done[event] is status


def frees_worker(state: WorkerState) -> bool:
    """Return whether a cancel of the task must free its worker."""
    return state not in (WorkerState.IDLE, WorkerState.COMPLETED)


def verb_refusal(task: str, event: TaskEvent, status: TaskStatus) -> GitWorkerError | None:
    """Return why a command on a task is impossible now, or None."""
    if event is STOP:
        possible = status in STOPPABLE
    elif event is RESTART and status is S.READY:
        possible = True
    else:
        possible = (status, event) in VALID_TASK_TRANSITIONS
    if possible:
        return None
    return Refused(
        f"task {task} {status_words(status)}, so it cannot be {VERBS[event]}",
        _hint(task, event, status),
        code="invalid_transition",
    )


def edit_refusal(task: str, status: TaskStatus) -> GitWorkerError | None:
    """Return why a task cannot be edited, or None."""
    if not has_ended(status):
        return None
    return Refused(
        f"task {task} {status_words(status)}, so it cannot be edited",
        f"git worker task restart {task}",
        code="moved_on",
    )


def _hint(task: str, event: TaskEvent, status: TaskStatus) -> str:
    if has_ended(status):
        return f"git worker task restart {task}"
    if event is SKIP and status in IN_HAND:
        return f"git worker task cancel {task}   # or stop it, then skip it"
    if event is RESTART:
        return f"git worker task stop {task}"
    if event is SKIP and status in QUEUED:
        return f"git worker task cancel {task}"
    if status in QUEUED:
        return f"git worker task hold {task}"
    return f"git worker task why {task}"
