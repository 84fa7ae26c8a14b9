"""What becomes of work that stands on another worker's branch. Pure."""

from enum import Enum

from gitworker.errors import GitWorkerError, Refused
from gitworker.model.worker import WorkerState

NOT_HELD = frozenset({WorkerState.IDLE, WorkerState.COMPLETED})


class Fate(Enum):
    """How the parent of a stacked worker stands.

    AHEAD: it is to land first. LANDED: its commits are in the target, as they landed. GONE: it was
    withdrawn, and never lands with who stands on it.
    """

    AHEAD = "ahead"
    LANDED = "landed"
    GONE = "gone"


def parent_fate(state: WorkerState | None, *, same_task: bool, landed: bool) -> Fate:
    """Return how a parent stands: its seat's state, whether it has that task still, a landing."""
    if state is not None and same_task and state not in NOT_HELD:
        return Fate.AHEAD
    return Fate.LANDED if landed else Fate.GONE


def is_active(state: WorkerState) -> bool:
    """Tell whether a seat has work on a branch that others may build on."""
    return state not in NOT_HELD


def approve_refusal(
    worker: str, parent: str, parent_state: WorkerState | None
) -> GitWorkerError | None:
    """Return why a worker cannot be approved before its parent, or None.

    What is approved are patches on top of what will be below them: that must be approved itself.
    """
    if parent_state is WorkerState.APPROVED:
        return None
    return Refused(
        f"worker {worker} stands on {parent}, which is not approved yet",
        f"git worker approve {parent} {worker}   (or drop it: git worker cancel {parent})",
        code="parent_first",
    )


def merge_refusal(worker: str, parent: str, fate: Fate) -> GitWorkerError | None:
    """Return why a worker cannot land now, or None: its parent lands first."""
    if fate is not Fate.AHEAD:
        return None
    return Refused(
        f"worker {worker} stands on {parent}, which has not landed yet",
        f"git worker merge {parent} {worker}",
        code="parent_first",
    )
