"""Rules for work that is stacked on another worker's branch. Pure."""

from enum import Enum

from gitworker.errors import GitWorkerError, Refused
from gitworker.model.worker import WorkerState
from gitworker.observe.workers.rules_worker import parent_first

NOT_HELD = frozenset({WorkerState.IDLE, WorkerState.COMPLETED})


class ParentState(Enum):
    """The state of the parent of a stacked worker.

    AHEAD: it lands first. LANDED: the target contains its commits. WITHDRAWN: it was cancelled, and
    the workers stacked on it land without it.
    """

    AHEAD = "ahead"
    LANDED = "landed"
    WITHDRAWN = "withdrawn"


def parent_state(state: WorkerState | None, *, same_task: bool, landed: bool) -> ParentState:
    """Return the parent's state from its worker's state, task and landings."""
    if state is not None and same_task and state not in NOT_HELD:
        return ParentState.AHEAD
    return ParentState.LANDED if landed else ParentState.WITHDRAWN


def is_active(state: WorkerState) -> bool:
    """Return True if a worker in this state has a branch that others may build on."""
    return state not in NOT_HELD


def approve_refusal(
    worker: str, parent: str, parent_state: WorkerState | None
) -> GitWorkerError | None:
    """Return the error if a worker cannot be approved before its parent, or None.

    An approval covers patches on top of the parent, so the parent must be approved itself.
    """
    first = parent_first(worker, parent, parent_state)
    if first is None:
        return None
    return Refused(f"worker {worker} is {first.words}", first.command, code="parent_first")


def merge_refusal(worker: str, parent: str, fate: ParentState) -> GitWorkerError | None:
    """Return the error if a worker cannot land before its parent, or None."""
    if fate is not ParentState.AHEAD:
        return None
    return Refused(
        f"worker {worker} is stacked on {parent}, and {parent} has not landed yet",
        f"git worker merge {parent} {worker}",
        code="parent_first",
    )
