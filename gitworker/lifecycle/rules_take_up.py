"""The event that brings a worker back to work, and the refusals. Pure: facts in, a verdict out."""

from collections.abc import Mapping
from types import MappingProxyType

from gitworker.errors import GitWorkerError, Refused
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerEvent, WorkerState
from gitworker.states.task_machine import HELD, status_words

TO_WORK: Mapping[WorkerState, WorkerEvent] = MappingProxyType(
    {
        WorkerState.ASSIGNED: WorkerEvent.START,
        WorkerState.STALE: WorkerEvent.RECOVER,
        WorkerState.FAILED: WorkerEvent.RESUME,
    }
)
ON_PURPOSE = "on_purpose"  # in the metadata of a failure: by a stop order, a limit or `fail`
HANDED_IN = frozenset({WorkerState.IN_REVIEW, WorkerState.APPROVED})
AT_HAND = frozenset({WorkerState.ASSIGNED, WorkerState.WORKING})
INTERRUPTED = frozenset({WorkerState.STALE, WorkerState.FAILED})
ENDED = MappingProxyType(
    {TaskStatus.COMPLETED: "is complete by now", TaskStatus.CANCELLED: "was cancelled"}
)


def event_to_work(state: WorkerState, *, stale_from: WorkerState | None) -> WorkerEvent | None:
    """Return the event that brings a worker to WORKING by its own command, or None.

    None also for a worker that became stale in review: its review continues.
    """
    if state is WorkerState.STALE and stale_from is not WorkerState.WORKING:
        return None
    return TO_WORK.get(state)


def has_not_started(state: WorkerState) -> bool:
    """Return whether a worker has its task and has not begun."""
    return state is WorkerState.ASSIGNED


def has_failed(state: WorkerState) -> bool:
    """Return whether a worker has failed."""
    return state is WorkerState.FAILED


def may_resume_unasked(state: WorkerState, *, on_purpose: bool) -> bool:
    """Return whether a heartbeat or a commit ends an interruption.

    A failure on purpose is a decision. A process that had not ended yet may have sent the sign.
    """
    return not (on_purpose and state is WorkerState.FAILED)


def is_interrupted(state: WorkerState) -> bool:
    """Return whether a worker may have been at work until time or a failure interrupted it."""
    return state in INTERRUPTED


def is_at_work(state: WorkerState) -> bool:
    """Return whether a worker is at work."""
    return state is WorkerState.WORKING


def waits_for_verdict(state: WorkerState, *, stale_from: WorkerState | None) -> bool:
    """Return whether a worker's work was handed in and has not landed yet."""
    return state in HANDED_IN or (
        state is WorkerState.STALE and stale_from is WorkerState.IN_REVIEW
    )


def may_hand_in(state: WorkerState, *, stale_from: WorkerState | None) -> bool:
    """Return whether `done` is possible, after an interruption has ended."""
    return state in AT_HAND or waits_for_verdict(state, stale_from=stale_from)


def resumes(event: WorkerEvent | None) -> bool:
    """Return whether an event takes up the work of a worker that gave up its claim."""
    return event is WorkerEvent.RESUME


def resume_refusal(
    worker: str, task: str, status: TaskStatus, *, holder: str | None
) -> GitWorkerError | None:
    """Return why a failed worker cannot take its task up again, or None if it can."""
    if holder not in (None, worker):
        return Refused(
            f"worker {worker} cannot resume {task}: worker {holder} holds it now",
            f"git worker show {holder}",
            code="task_taken",
        )
    if status in ENDED:
        return Refused(
            f"worker {worker} cannot resume {task}: the task {ENDED[status]}",
            f"git worker reset {worker}",
        )
    if status in HELD:
        return Refused(
            f"worker {worker} cannot resume {task}: the task {status_words(status)}",
            f"git worker show {task}",
        )
    return None
