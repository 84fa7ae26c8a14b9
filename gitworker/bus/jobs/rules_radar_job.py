"""Which workers' branches the radar watches, and when it is due. Pure."""

from collections.abc import Collection

from gitworker.model.worker import WorkerState

WATCHED = frozenset(
    # ASSIGNED: its first commit may be published a moment before that starts its work.
    {
        WorkerState.ASSIGNED,
        WorkerState.WORKING,
        WorkerState.IN_REVIEW,
        WorkerState.APPROVED,
        WorkerState.STALE,
    }
)
BRANCHES_AT_LEAST = 2


def is_watched(state: WorkerState) -> bool:
    """Return whether a worker in this state has work that may conflict."""
    return state in WATCHED


def is_due(due: Collection[str], watched: Collection[str], *, targets: Collection[str]) -> bool:
    """Return whether a watched branch or a target has moved and there are two to compare."""
    return len(watched) >= BRANCHES_AT_LEAST and any(
        ref in targets or ref in watched for ref in due
    )
