"""The task machine: the task model's table, and CANCELLED from the lifecycle view.

Only ADMIN events and USER_CANCELLED lead out of COMPLETED, BLOCKED and CANCELLED.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from gitworker.errors import NotFound
from gitworker.model.task import TaskEvent as E
from gitworker.model.task import TaskStatus as S
from gitworker.rules_text import label_of
from gitworker.states.engine import InvalidTransition, Machine, legal_pairs, next_state

__all__ = [
    "TASK_MACHINE",
    "VALID_STATUS_TRANSITIONS",
    "VALID_TASK_TRANSITIONS",
    "InvalidTransition",
    "has_ended",
    "is_valid_status_transition",
    "status_words",
    "task_transition",
]

TASK_MACHINE: Machine[S, E] = Machine(
    "task",
    S.DEFINED,
    {
        (S.DEFINED, E.DEPS_MET): S.READY,
        (S.DEFINED, E.ADMIN_RESTART): S.READY,
        (S.DEFINED, E.USER_CANCELLED): S.CANCELLED,
        (S.READY, E.ASSIGNED): S.ASSIGNED,
        (S.READY, E.USER_CANCELLED): S.CANCELLED,
        (S.ASSIGNED, E.AGENT_STARTED): S.IN_PROGRESS,
        (S.ASSIGNED, E.EXECUTION_ERROR): S.READY,
        (S.ASSIGNED, E.RECOVERY): S.READY,
        (S.ASSIGNED, E.TIMEOUT): S.BLOCKED,
        (S.ASSIGNED, E.ADMIN_RESTART): S.READY,
        (S.ASSIGNED, E.USER_CANCELLED): S.CANCELLED,
        (S.IN_PROGRESS, E.AGENT_COMPLETED): S.VERIFYING,
        (S.IN_PROGRESS, E.AGENT_FAILED): S.FAILED,
        (S.IN_PROGRESS, E.TOKENS_EXHAUSTED): S.PAUSED,
        (S.IN_PROGRESS, E.AGENT_QUESTION): S.WAITING_INPUT,
        (S.IN_PROGRESS, E.TIMEOUT): S.BLOCKED,
        (S.IN_PROGRESS, E.ADMIN_STOP): S.BLOCKED,
        (S.IN_PROGRESS, E.MAX_RETRIES): S.BLOCKED,
        (S.IN_PROGRESS, E.RETRY): S.READY,
        (S.IN_PROGRESS, E.RECOVERY): S.READY,
        (S.IN_PROGRESS, E.USER_CANCELLED): S.CANCELLED,
        (S.WAITING_INPUT, E.HUMAN_REPLIED): S.IN_PROGRESS,
        (S.WAITING_INPUT, E.INPUT_TIMEOUT): S.PAUSED,
        (S.WAITING_INPUT, E.ADMIN_RESTART): S.READY,
        (S.WAITING_INPUT, E.USER_CANCELLED): S.CANCELLED,
        (S.PAUSED, E.RESUME_TIMER): S.READY,
        (S.PAUSED, E.ADMIN_RESTART): S.READY,
        (S.PAUSED, E.USER_CANCELLED): S.CANCELLED,
        (S.VERIFYING, E.VERIFY_PASSED): S.COMPLETED,
        (S.VERIFYING, E.PR_CREATED): S.AWAITING_APPROVAL,
        (S.VERIFYING, E.VERIFY_FAILED): S.FAILED,
        (S.VERIFYING, E.ADMIN_RESTART): S.READY,
        (S.VERIFYING, E.USER_CANCELLED): S.CANCELLED,
        (S.AWAITING_APPROVAL, E.PR_MERGED): S.COMPLETED,
        (S.AWAITING_APPROVAL, E.PR_CLOSED): S.BLOCKED,
        (S.AWAITING_APPROVAL, E.ADMIN_RESTART): S.READY,
        (S.AWAITING_APPROVAL, E.USER_CANCELLED): S.CANCELLED,
        (S.COMPLETED, E.ADMIN_RESTART): S.READY,
        (S.FAILED, E.RETRY): S.READY,
        (S.FAILED, E.MAX_RETRIES): S.BLOCKED,
        (S.FAILED, E.ADMIN_SKIP): S.COMPLETED,
        (S.FAILED, E.ADMIN_RESTART): S.READY,
        (S.FAILED, E.USER_CANCELLED): S.CANCELLED,
        (S.BLOCKED, E.ADMIN_SKIP): S.COMPLETED,
        (S.BLOCKED, E.ADMIN_RESTART): S.READY,
        (S.BLOCKED, E.USER_CANCELLED): S.CANCELLED,
        (S.CANCELLED, E.ADMIN_RESTART): S.READY,
    },
)

# Nothing is left to do for such a task.
ENDED = frozenset({S.COMPLETED, S.CANCELLED})
# Those of a task that a worker has.
HELD = frozenset({
    S.ASSIGNED, S.IN_PROGRESS, S.WAITING_INPUT, S.PAUSED, S.VERIFYING, S.AWAITING_APPROVAL,
})  # fmt: skip
# A status in words, for people.
STATUS_WORDS: Mapping[S, str] = MappingProxyType(
    {
        S.DEFINED: "waits for other tasks",
        S.READY: "is ready to start",
        S.ASSIGNED: "is assigned",
        S.IN_PROGRESS: "is in progress",
        S.WAITING_INPUT: "waits for an answer",
        S.PAUSED: "is paused",
        S.VERIFYING: "is handed in",
        S.AWAITING_APPROVAL: "is handed in",
        S.COMPLETED: "is completed",
        S.FAILED: "has failed",
        S.BLOCKED: "is blocked",
        S.CANCELLED: "was cancelled",
    }
)

VALID_TASK_TRANSITIONS: Mapping[tuple[S, E], S] = TASK_MACHINE.table
VALID_STATUS_TRANSITIONS: frozenset[tuple[S, S]] = legal_pairs(TASK_MACHINE)


def has_ended(status: S) -> bool:
    """Return whether nothing is left to do for a task."""
    return status in ENDED


def status_words(status: S) -> str:
    """Return a task's status in words: "is in progress"."""
    return STATUS_WORDS[status]


def without_worker(task: str, status: S, *, hint: str = "git worker task why {}") -> NotFound:
    """Return the error for a task that no worker has; `hint` helps if the task has not ended."""
    hint = "git worker task show {}" if has_ended(status) else hint
    return NotFound(f"task {task} {status_words(status)}, and no worker has it", hint.format(task))


def status_label(status: S) -> str:
    """Return a task's status as a column shows it: "in progress"."""
    return label_of(status_words(status))


def label_counts(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the numbers of tasks by label instead of by status; some statuses share a label."""
    found: dict[str, int] = {}
    for status, number in counts:
        label = status_label(S(status))
        found[label] = found.get(label, 0) + number
    return list(found.items())


def task_transition(current: S, event: E) -> S:
    """Return the status that `event` leads to; raise InvalidTransition if it is not allowed."""
    return next_state(TASK_MACHINE, current, event)


def is_valid_status_transition(from_status: S, to_status: S) -> bool:
    """Return whether any event leads from `from_status` to `to_status`."""
    return (from_status, to_status) in VALID_STATUS_TRANSITIONS
