"""What the records and files of a worker may say: states that fit each other, and ages. Pure."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.states.question import OPEN

W, T = WorkerState, TaskStatus
HOLDING = frozenset({W.ASSIGNED, W.WORKING, W.IN_REVIEW, W.APPROVED, W.STALE})
CONTINUING = HOLDING | {W.FAILED}
AT_WORK = frozenset({T.IN_PROGRESS, T.PAUSED, T.WAITING_INPUT})
ASKING = frozenset({T.WAITING_INPUT, T.PAUSED})
REVIEWED = frozenset({T.VERIFYING, T.AWAITING_APPROVAL})
# The statuses that a task can have, by the state of its worker.
AGREEING: Mapping[WorkerState, frozenset[TaskStatus]] = MappingProxyType(
    {
        W.ASSIGNED: frozenset({T.ASSIGNED}),
        W.WORKING: AT_WORK,
        W.IN_REVIEW: REVIEWED,
        W.APPROVED: REVIEWED,
        W.STALE: AT_WORK | REVIEWED,
    }
)
LEFT_MS = 60_000  # git holds a lock for seconds
BLOB_GRACE_MS = 24 * 60 * 60 * 1000  # a publisher saves a blob before its message (bus/collect)


def holds_task(state: WorkerState) -> bool:
    """Return whether a worker in this state has a task, a branch and a worktree."""
    return state in HOLDING


def may_continue(state: WorkerState) -> bool:
    """Return whether a worker works on its task, or can be resumed in its worktree."""
    return state in CONTINUING


def agree(state: WorkerState, status: TaskStatus) -> bool:
    """Return whether a worker in this state can have a task with this status."""
    return state not in AGREEING or status in AGREEING[state]


def waits_for_nothing(status: TaskStatus, states: Collection[str]) -> bool:
    """Return whether a task waits for an answer, but no question of it is open."""
    return status is T.WAITING_INPUT and OPEN not in states


def may_stay_open(state: str, status: TaskStatus | None) -> bool:
    """Return whether a task with that status, None for no task, can have the open question.

    Another question of a paused task may be late. A late one is open to an answer until its task
    continues.
    """
    return status in ASKING if state == OPEN else status in AT_WORK


def is_left(age_ms: int) -> bool:
    """Return whether a lock file of git is so old that its process has probably ended."""
    return age_ms > LEFT_MS


def is_forgotten(age_ms: int) -> bool:
    """Return whether a large payload is so old that its message is no longer expected."""
    return age_ms > BLOB_GRACE_MS
