"""The worker machine: a worker and the one task that it holds.

STALE has a memory: `stale_from` is the state before it, WORKING or IN_REVIEW. Some rows out of
STALE hold for one of the two only. It is stored with the worker's row.
"""

from collections.abc import Mapping
from types import MappingProxyType

from gitworker.model.worker import WorkerEvent as E
from gitworker.model.worker import WorkerState as S
from gitworker.states.engine import InvalidTransition, Machine, hint_for, next_state

WORKER_MACHINE: Machine[S, E] = Machine(
    "worker",
    S.IDLE,
    {
        (S.IDLE, E.ASSIGN): S.ASSIGNED,
        (S.ASSIGNED, E.START): S.WORKING,
        (S.ASSIGNED, E.SETUP_FAILED): S.FAILED,
        (S.ASSIGNED, E.CANCEL): S.IDLE,
        (S.WORKING, E.SUBMIT): S.IN_REVIEW,
        (S.WORKING, E.FAIL): S.FAILED,
        (S.WORKING, E.HEARTBEAT_TIMEOUT): S.STALE,
        (S.WORKING, E.STOP): S.FAILED,
        (S.WORKING, E.CANCEL): S.IDLE,
        (S.IN_REVIEW, E.APPROVE): S.APPROVED,
        (S.IN_REVIEW, E.REQUEST_CHANGES): S.WORKING,
        (S.IN_REVIEW, E.MERGE_CONFLICT): S.WORKING,
        (S.IN_REVIEW, E.VERIFY_FAILED): S.WORKING,
        (S.IN_REVIEW, E.REVIEW_TIMEOUT): S.STALE,
        (S.IN_REVIEW, E.STOP): S.FAILED,
        (S.IN_REVIEW, E.CANCEL): S.IDLE,
        (S.APPROVED, E.MERGE): S.COMPLETED,
        (S.APPROVED, E.MERGE_CONFLICT): S.WORKING,
        (S.APPROVED, E.VERIFY_FAILED): S.WORKING,
        (S.APPROVED, E.APPROVAL_WITHDRAWN): S.IN_REVIEW,
        (S.APPROVED, E.CANCEL): S.IDLE,
        (S.STALE, E.RECOVER): S.WORKING,
        (S.STALE, E.EXPIRE): S.FAILED,
        (S.STALE, E.APPROVE): S.APPROVED,
        (S.STALE, E.REQUEST_CHANGES): S.WORKING,
        (S.STALE, E.RESUME_REVIEW): S.IN_REVIEW,
        (S.STALE, E.STOP): S.FAILED,
        (S.STALE, E.CANCEL): S.IDLE,
        (S.FAILED, E.RESET): S.IDLE,
        (S.FAILED, E.CANCEL): S.IDLE,
        (S.COMPLETED, E.RECYCLE): S.IDLE,
    },
)

# event out of STALE -> the state before STALE that it requires. A slow review is resumed as a
# review (`resume_review`); `recover` would start the worker while its task waits for a verdict.
STALE_GUARDS: Mapping[E, S] = MappingProxyType(
    {
        E.RECOVER: S.WORKING,
        E.EXPIRE: S.WORKING,
        E.APPROVE: S.IN_REVIEW,
        E.REQUEST_CHANGES: S.IN_REVIEW,
        E.RESUME_REVIEW: S.IN_REVIEW,
    }
)


def guard_allows(state: S, event: E, *, stale_from: S | None) -> bool:
    """Return whether the row's guard allows the event; rows without a guard do.

    `stale_from` is the state before STALE; it matters in STALE only.
    """
    needed = STALE_GUARDS.get(event) if state == S.STALE else None
    return needed is None or needed == stale_from


def worker_transition(state: S, event: E, *, stale_from: S | None = None) -> S:
    """Return the state that `event` leads to; raise InvalidTransition if table or guard refuse."""
    target = next_state(WORKER_MACHINE, state, event)
    if not guard_allows(state, event, stale_from=stale_from):
        origin = f"it became stale in {stale_from}; " if stale_from else ""
        raise InvalidTransition(state, event, origin + hint_for(WORKER_MACHINE, state))
    return target
