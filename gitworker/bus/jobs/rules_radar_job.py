"""Whose branches the radar watches, and when it has to look. Pure."""

from collections.abc import Collection

from gitworker.model.worker import WorkerState

WATCHED = frozenset(
    {WorkerState.WORKING, WorkerState.IN_REVIEW, WorkerState.APPROVED, WorkerState.STALE}
)
BRANCHES_AT_LEAST = 2


def is_watched(state: WorkerState) -> bool:
    """Tell whether a worker in this state has work that may conflict."""
    return state in WATCHED


def must_look(due: Collection[str], watched: Collection[str], *, target: str) -> bool:
    """Tell whether a branch has moved that matters: a watched one or the target.

    A branch that is alone meets nobody.
    """
    return len(watched) >= BRANCHES_AT_LEAST and any(ref == target or ref in watched for ref in due)
