"""What decides in fsck. Pure: states, rows and times in, verdicts out."""

from collections.abc import Mapping
from types import MappingProxyType

from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState

W, T = WorkerState, TaskStatus
HOLDING = frozenset({W.ASSIGNED, W.WORKING, W.IN_REVIEW, W.APPROVED, W.STALE})
AT_WORK = frozenset({T.IN_PROGRESS, T.PAUSED, T.WAITING_INPUT})
REVIEWED = frozenset({T.VERIFYING, T.AWAITING_APPROVAL})
# Which statuses a task can have while the seat that it is assigned to is in a state.
AGREEING: Mapping[WorkerState, frozenset[TaskStatus]] = MappingProxyType(
    {
        W.ASSIGNED: frozenset({T.ASSIGNED}),
        W.WORKING: AT_WORK,
        W.IN_REVIEW: REVIEWED,
        W.APPROVED: REVIEWED,
        W.STALE: AT_WORK | REVIEWED,
    }
)
LEFT_MS = 60_000  # a lock that is older was left by a git that is dead, or has to be looked at
BLOB_GRACE_MS = 24 * 60 * 60 * 1000  # a publisher saves a blob before its message (bus/collect)


def holds_task(state: WorkerState) -> bool:
    """Tell whether a seat in this state has a task, a branch and a worktree."""
    return state in HOLDING


def agree(state: WorkerState, status: TaskStatus) -> bool:
    """Tell whether a seat and the task that is assigned to it can stand like that together."""
    return state not in AGREEING or status in AGREEING[state]


def is_left(age_ms: int) -> bool:
    """Tell whether a lock file of git is so old that nobody can be expected to hold it."""
    return age_ms > LEFT_MS


def is_forgotten(age_ms: int) -> bool:
    """Tell whether a large payload without a message is too old for its message still to come."""
    return age_ms > BLOB_GRACE_MS
