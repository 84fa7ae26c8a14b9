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
        (S.FAILED, E.RESUME): S.WORKING,
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

# The command for an event, if its name differs.
VERBS: Mapping[E, str] = MappingProxyType(
    {E.SUBMIT: "done", E.REQUEST_CHANGES: "reject", E.RESUME_REVIEW: "recover"}
)

# The next command for a worker in each state, for hints.
NEXT_COMMANDS: Mapping[S, str] = MappingProxyType(
    {
        S.IDLE: "assign {} TASK",
        S.ASSIGNED: "start {}",
        S.WORKING: "done {}",
        S.IN_REVIEW: "approve {}",
        S.APPROVED: "merge {}",
        S.STALE: "recover {}",
        S.FAILED: "reset {}",
        S.COMPLETED: "assign {} TASK",
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


def require_transition(worker_id: str, state: S, event: E, *, stale_from: S | None = None) -> S:
    """Return the state that `event` leads a worker to.

    Raises InvalidTransition with a message for people: the worker, its state, the states that the
    command requires, and as the hint the next command for the worker.
    """
    try:
        return worker_transition(state, event, stale_from=stale_from)
    except InvalidTransition as error:
        verb = VERBS.get(event, event.value.replace("_", " "))
        raise InvalidTransition(
            state,
            event,
            f"git worker {NEXT_COMMANDS[state].format(worker_id)}",
            message=f"worker {worker_id} is {_described(state, stale_from)};"
            f" {verb} requires {_origins(event)}",
        ) from error


def _described(state: S, stale_from: S | None) -> str:
    return f"{state} (it was {stale_from})" if state == S.STALE and stale_from else state


def _origins(event: E) -> str:
    """Return the states in which an event is possible, as people read them."""
    origins = [origin for (origin, one) in WORKER_MACHINE.table if one == event]
    if event in STALE_GUARDS and len(origins) > 1:  # STALE counts for some of its workers only
        origins.remove(S.STALE)
    *first, last = origins
    return f"{', '.join(first)} or {last}" if first else last
