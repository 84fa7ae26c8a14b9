"""The worker machine: a worker and the one task that it holds.

STALE has a memory: `stale_from` is the state before it, WORKING or IN_REVIEW. Some rows out of
STALE hold for one of the two only. It is stored with the worker's row.
"""

from collections.abc import Mapping
from types import MappingProxyType

from gitworker.model.worker import WorkerEvent as E
from gitworker.model.worker import WorkerState as S
from gitworker.rules_text import label_of
from gitworker.states.engine import InvalidTransition, Machine, hint_for, next_state

WORKER_MACHINE: Machine[S, E] = Machine(
    "worker",
    S.IDLE,
    {
        (S.IDLE, E.ASSIGN): S.ASSIGNED,
        (S.ASSIGNED, E.START): S.WORKING,
        (S.ASSIGNED, E.SETUP_FAILED): S.FAILED,
        (S.ASSIGNED, E.EXPIRE): S.FAILED,
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

# A state in words, for people. A worker that became stale in review has words of its own.
STATE_WORDS: Mapping[S, str] = MappingProxyType(
    {
        S.IDLE: "has no task",
        S.ASSIGNED: "has not started yet",
        S.WORKING: "is at work",
        S.IN_REVIEW: "is in review",
        S.APPROVED: "is approved",
        S.STALE: "is stale (no sign of life)",
        S.FAILED: "has failed",
        S.COMPLETED: "has landed",
    }
)
STALE_IN_REVIEW = "is stale (its review takes long)"
WAITS_FOR_AUTHOR = "waits for its author"  # its work was sent back and no author has started yet

# The consequence of a refused event, for people.
REFUSALS: Mapping[E, str] = MappingProxyType(
    {
        E.ASSIGN: "it cannot take a task",
        E.START: "there is nothing to start",
        E.SETUP_FAILED: "its setup is over",
        E.SUBMIT: "there is nothing to hand in",
        E.FAIL: "there is no work to give up",
        E.STOP: "there is no work to give up",
        E.APPROVE: "there is nothing to approve",
        E.REQUEST_CHANGES: "there is nothing to send back",
        E.MERGE: "it cannot land",
        E.MERGE_CONFLICT: "there is nothing to send back",
        E.VERIFY_FAILED: "there is nothing to send back",
        E.APPROVAL_WITHDRAWN: "there is no approval to withdraw",
        E.RECOVER: "there is nothing to recover",
        E.RESUME_REVIEW: "there is nothing to recover",
        E.RESUME: "there is nothing to resume",
        E.HEARTBEAT_TIMEOUT: "it cannot time out",
        E.REVIEW_TIMEOUT: "it cannot time out",
        E.EXPIRE: "it cannot time out",
        E.CANCEL: "there is nothing to cancel",
        E.RESET: "there is nothing to reset",
        E.RECYCLE: "there is nothing to recycle",
    }
)

# The next command for a worker in each state, for hints.
NEXT_COMMANDS: Mapping[S, str] = MappingProxyType(
    {
        S.IDLE: "assign {} <task>",
        S.ASSIGNED: "start {}",
        S.WORKING: "wait {}",
        S.IN_REVIEW: "approve {}",
        S.APPROVED: "merge {}",
        S.STALE: "resume {}",
        S.FAILED: "resume {}",
        S.COMPLETED: "assign {} <task>",
    }
)
# What the worker itself does next, since others judge its work.
OWN_NEXT: Mapping[S, str] = MappingProxyType(
    {S.IN_REVIEW: "wait {} --for verdict", S.APPROVED: "wait {} --for landed"}
)
# The command that helps after the refusal of one event, if it is another than the next one.
FREEING = frozenset({E.ASSIGN, E.RESET, E.RECYCLE})
AT_WORK_ONLY = frozenset({E.START, E.RESUME})


def next_command(
    worker_id: str, state: S, event: E, *, stale_from: S | None = None, is_own: bool = False
) -> str:
    """Return the command that helps after `event` was refused in `state`.

    `is_own`: the worker itself asks; it does not judge its work, but waits for others to do so.
    """
    command = NEXT_COMMANDS[state]
    if event in FREEING and state == S.FAILED:
        command = "reset {}"
    elif event in FREEING and state == S.COMPLETED:
        command = "recycle {}"
    elif event in FREEING and state != S.IDLE:
        command = "cancel {}"
    elif event in AT_WORK_ONLY and (state == S.APPROVED or S.IN_REVIEW in (state, stale_from)):
        command = OWN_NEXT.get(stale_from or state, "") if is_own else "reject {} -m <text>"
    elif event in (E.FAIL, E.STOP) and state == S.APPROVED:
        command = "cancel {}"
    elif event == E.REQUEST_CHANGES and state == S.WORKING:
        command = "send {} <text>"
    elif state == S.WORKING:  # the worker itself would wait for itself
        command = "show {}"
    elif event == E.CANCEL and state == S.COMPLETED:
        command = "undo --list"
    elif state == S.STALE and stale_from == S.IN_REVIEW:
        command = "approve {}"
    return f"git worker {command.format(worker_id)}"


def state_words(state: S, stale_from: S | None = None, *, waits_for_author: bool = False) -> str:
    """Return a worker's state in words: "is at work"."""
    if state == S.WORKING and waits_for_author:
        return WAITS_FOR_AUTHOR
    if state == S.STALE and stale_from == S.IN_REVIEW:
        return STALE_IN_REVIEW
    return STATE_WORDS[state]


def state_label(state: S, stale_from: S | None = None) -> str:
    """Return a worker's state as a column shows it: "at work"."""
    return label_of(state_words(state, stale_from))


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


def require_transition(
    worker_id: str, state: S, event: E, *, stale_from: S | None = None, is_own: bool = False
) -> S:
    """Return the state that `event` leads a worker to; `is_own`: the worker itself asks.

    Raises InvalidTransition with a message for people: the worker, its state in words and the
    consequence, and as the hint the command that helps.
    """
    try:
        return worker_transition(state, event, stale_from=stale_from)
    except InvalidTransition as error:
        raise InvalidTransition(
            state,
            event,
            next_command(worker_id, state, event, stale_from=stale_from, is_own=is_own),
            message=f"worker {worker_id} {state_words(state, stale_from)}, so {REFUSALS[event]}",
        ) from error
