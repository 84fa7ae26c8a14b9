"""The meaning of a worker's state for a reader."""

import pytest

from gitworker.config import Settings
from gitworker.liveness.rules import ClockReading, Heartbeat, Liveness
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.observe.workers.rules import NEXT, next_command, note_of, waits_for, worker_liveness

S = WorkerState
T = TaskStatus
MOMENT = ClockReading(now_ms=1_000_000, mono_ms=500_000, boot_id="boot", host="here")


@pytest.mark.parametrize(
    ("state", "task_status", "stale_from", "words"),
    [
        (S.IDLE, None, None, "a task"),
        (S.ASSIGNED, T.ASSIGNED, None, "its agent to start"),
        (S.WORKING, T.IN_PROGRESS, None, None),
        (S.WORKING, None, None, None),
        (S.WORKING, T.WAITING_INPUT, None, "an answer"),
        (S.WORKING, T.PAUSED, None, "tokens"),
        (S.IN_REVIEW, T.AWAITING_APPROVAL, None, "a review"),
        (S.APPROVED, T.AWAITING_APPROVAL, None, "the merge"),
        (S.COMPLETED, T.COMPLETED, None, "its next task"),
        (S.STALE, T.IN_PROGRESS, S.WORKING, "a sign of life"),
        (S.STALE, T.AWAITING_APPROVAL, S.IN_REVIEW, "an overdue review"),
        (S.FAILED, T.FAILED, None, "a reset"),
    ],
)
def test_waits_for(
    state: WorkerState,
    task_status: TaskStatus | None,
    stale_from: WorkerState | None,
    words: str | None,
) -> None:
    """Every state names the thing that the worker waits for; a working one waits for nothing."""
    assert waits_for(state, task_status=task_status, stale_from=stale_from) == words


@pytest.mark.parametrize(
    ("state", "task_status", "stale_from", "command"),
    [
        (S.WORKING, T.IN_PROGRESS, None, "git worker done auth"),
        (S.WORKING, None, None, "git worker done auth"),
        (S.WORKING, T.WAITING_INPUT, None, "git worker reply auth TEXT"),
        (S.STALE, T.IN_PROGRESS, S.WORKING, "git worker recover auth"),
        (S.STALE, T.AWAITING_APPROVAL, S.IN_REVIEW, "git worker approve auth"),
        (S.APPROVED, T.AWAITING_APPROVAL, None, "git worker merge auth"),
    ],
)
def test_next_command(
    state: WorkerState,
    task_status: TaskStatus | None,
    stale_from: WorkerState | None,
    command: str,
) -> None:
    """The next command follows from the state, or from the task if it waits."""
    assert next_command("auth", state, task_status=task_status, stale_from=stale_from) == command


def test_every_state_has_a_next_command() -> None:
    """Every state has a next command."""
    assert set(NEXT) == set(WorkerState)


@pytest.mark.parametrize(
    ("state", "heartbeat", "liveness"),
    [
        (S.WORKING, None, Liveness.UNKNOWN),
        (S.WORKING, Heartbeat(0, 499_000, "boot", "here"), Liveness.OK),
        (S.WORKING, Heartbeat(960_000), Liveness.WARN),
        (S.STALE, Heartbeat(0, 390_000, "boot", "here"), Liveness.STALE),
        (S.STALE, Heartbeat(0), Liveness.DEAD),
        (S.IN_REVIEW, Heartbeat(0), Liveness.UNKNOWN),
        (S.IDLE, Heartbeat(0), Liveness.UNKNOWN),
    ],
)
def test_liveness(state: WorkerState, heartbeat: Heartbeat | None, liveness: Liveness) -> None:
    """Only a worker that should send heartbeats is judged by its silence."""
    assert worker_liveness(state, heartbeat, MOMENT, Settings()) is liveness


@pytest.mark.parametrize(
    ("state", "last_error", "waits", "subject", "note"),
    [
        (S.FAILED, "tests do not pass", "a reset", "Add x", "tests do not pass"),
        (S.FAILED, None, "a reset", "Add x", "waits for a reset"),
        (S.WORKING, "an old error", None, "Add x", "Add x"),
        (S.WORKING, None, None, None, "no commit yet"),
        (S.WORKING, None, "an answer", "Add x", "waits for an answer"),
    ],
)
def test_note(
    state: WorkerState, last_error: str | None, waits: str | None, subject: str | None, note: str
) -> None:
    """A failure's reason comes first, then the awaited thing, then the last commit."""
    assert note_of(state, last_error=last_error, waits=waits, subject=subject) == note
