"""The events that a worker's event fires on its task, in order.

Pure data and lookups: the caller fires them in the same transaction as the worker's own event. The
task of a WORKING worker may be PAUSED or WAITING_INPUT. Then the sequence first returns it to
IN_PROGRESS (`ADMIN_RESTART` ends a pause or drops a question).
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from gitworker.model.task import TaskEvent as E
from gitworker.model.task import TaskStatus as S
from gitworker.states.engine import InvalidTransition

Events = tuple[E, ...]


class WorkerTaskEvent(StrEnum):
    """An event of a worker that may change its task."""

    ASSIGN = "assign"
    START = "start"
    SETUP_FAILED = "setup_failed"
    SUBMIT = "submit"
    APPROVE = "approve"
    APPROVAL_WITHDRAWN = "approval_withdrawn"
    MERGE = "merge"
    REQUEST_CHANGES = "request_changes"
    MERGE_CONFLICT = "merge_conflict"
    VERIFY_FAILED = "verify_failed"
    FAIL = "fail"
    RETRY = "retry"  # the back-off of a failed task is over
    RECOVERY = "recovery"  # the process ended without a supervisor
    HEARTBEAT_TIMEOUT = "heartbeat_timeout"
    REVIEW_TIMEOUT = "review_timeout"
    RECOVER = "recover"
    RESUME_REVIEW = "resume_review"
    EXPIRE = "expire"
    TIMEOUT = "timeout"  # alive but silent past DEAD, or over its time limit
    PR_CLOSED = "pr_closed"
    STOP = "stop"
    TOKENS_EXHAUSTED = "tokens_exhausted"
    QUESTION = "question"
    REPLY = "reply"
    INPUT_TIMEOUT = "input_timeout"
    RESUME = "resume"
    CANCEL = "cancel"
    RESET = "reset"
    RECYCLE = "recycle"
    UNDO = "undo"


class TaskConditions(NamedTuple):
    """The facts besides the status on which the events depend."""

    requires_approval: bool
    retries_left: bool


def task_events(
    task_event: str, *, status: S, requires_approval: bool = False, retries_left: bool = True
) -> Events:
    """Return the events to fire on the task, in order, each a legal step from the one before.

    `task_event` is a value of WorkerTaskEvent (ValueError otherwise). For `recovery` and `expire`,
    `retries_left` is whether another recovery in a row is allowed. With `verify_failed` and no
    retry left the task ends BLOCKED, and the worker gets `stop`. Raises InvalidTransition if the
    status does not allow the event.
    """
    by_status = RULES[WorkerTaskEvent(task_event)]
    rule = by_status.get(status)
    events = rule(TaskConditions(requires_approval, retries_left)) if callable(rule) else rule
    if events is None:
        raise InvalidTransition(status, NAMED[WorkerTaskEvent(task_event)], _hint(by_status))
    return events


Rule = Events | Callable[[TaskConditions], Events | None]
ByStatus = Mapping[S, Rule]

REWORK: Events = (E.ADMIN_RESTART, E.ASSIGNED, E.AGENT_STARTED)


def _assign_failed(facts: TaskConditions) -> Events | None:
    # a spawn ends the back-off, but retry_count may not exceed max_retries
    return (E.RETRY, E.ASSIGNED) if facts.retries_left else None


def _assign_blocked(facts: TaskConditions) -> Events | None:
    # the task was stopped or timed out, and a spawn assigns it again
    return (E.ADMIN_RESTART, E.ASSIGNED) if facts.retries_left else None


def _submit(facts: TaskConditions) -> Events:
    return (E.AGENT_COMPLETED, E.PR_CREATED) if facts.requires_approval else (E.AGENT_COMPLETED,)


def _merge(facts: TaskConditions) -> Events:
    # approval may have become required after the submit, so verification alone is not enough
    return (E.PR_CREATED, E.PR_MERGED) if facts.requires_approval else (E.VERIFY_PASSED,)


def _verify_failed(facts: TaskConditions) -> Events:
    if facts.retries_left:
        return (E.VERIFY_FAILED, E.RETRY, E.ASSIGNED, E.AGENT_STARTED)
    return (E.VERIFY_FAILED, E.MAX_RETRIES)


def _fail(facts: TaskConditions) -> Events:
    return (E.AGENT_FAILED,) if facts.retries_left else (E.AGENT_FAILED, E.MAX_RETRIES)


def _retry(facts: TaskConditions) -> Events:
    return (E.RETRY,) if facts.retries_left else (E.MAX_RETRIES,)


def _recovery(facts: TaskConditions) -> Events:
    return (E.RECOVERY,) if facts.retries_left else (E.MAX_RETRIES,)


def _recovery_before_start(facts: TaskConditions) -> Events:
    # ASSIGNED has no row for MAX_RETRIES; TIMEOUT leads to BLOCKED
    return (E.RECOVERY,) if facts.retries_left else (E.TIMEOUT,)


def _at_work(rule: Events | Callable[[TaskConditions], Events]) -> ByStatus:
    """Return the rule for every status a WORKING worker's task can have."""

    def resumed(facts: TaskConditions) -> Events:
        return REWORK + (rule(facts) if callable(rule) else rule)

    return {S.IN_PROGRESS: rule, S.PAUSED: resumed, S.WAITING_INPUT: resumed}


def _everywhere(rule: Rule) -> ByStatus:
    return dict.fromkeys(S, rule)


def _in_review(rule: Rule) -> ByStatus:
    return {S.VERIFYING: rule, S.AWAITING_APPROVAL: rule}


RULES: Mapping[WorkerTaskEvent, ByStatus] = MappingProxyType(
    {
        WorkerTaskEvent.ASSIGN: {
            S.DEFINED: (E.DEPS_MET, E.ASSIGNED),
            S.READY: (E.ASSIGNED,),
            S.FAILED: _assign_failed,
            S.BLOCKED: _assign_blocked,
        },
        WorkerTaskEvent.START: {S.ASSIGNED: (E.AGENT_STARTED,)},
        WorkerTaskEvent.SETUP_FAILED: {S.ASSIGNED: (E.EXECUTION_ERROR,)},
        WorkerTaskEvent.SUBMIT: _at_work(_submit),
        WorkerTaskEvent.APPROVE: _everywhere(()),
        WorkerTaskEvent.APPROVAL_WITHDRAWN: _everywhere(()),
        WorkerTaskEvent.MERGE: {S.VERIFYING: _merge, S.AWAITING_APPROVAL: (E.PR_MERGED,)},
        WorkerTaskEvent.REQUEST_CHANGES: _in_review(REWORK),
        WorkerTaskEvent.MERGE_CONFLICT: _in_review(REWORK),
        WorkerTaskEvent.VERIFY_FAILED: {S.VERIFYING: _verify_failed, S.AWAITING_APPROVAL: REWORK},
        WorkerTaskEvent.FAIL: _at_work(_fail),
        WorkerTaskEvent.RETRY: {S.FAILED: _retry},
        WorkerTaskEvent.RECOVERY: {
            S.ASSIGNED: _recovery_before_start,
            S.IN_PROGRESS: _recovery,
            S.PAUSED: (),  # no process is expected to run: the task resumes by its timer
            S.WAITING_INPUT: (),
        },
        WorkerTaskEvent.HEARTBEAT_TIMEOUT: _everywhere(()),
        WorkerTaskEvent.REVIEW_TIMEOUT: _everywhere(()),
        WorkerTaskEvent.RECOVER: _everywhere(()),
        WorkerTaskEvent.RESUME_REVIEW: _everywhere(()),
        WorkerTaskEvent.EXPIRE: {S.ASSIGNED: _recovery_before_start, **_at_work(_recovery)},
        WorkerTaskEvent.TIMEOUT: {S.ASSIGNED: (E.TIMEOUT,), **_at_work((E.TIMEOUT,))},
        WorkerTaskEvent.PR_CLOSED: {
            S.VERIFYING: (E.PR_CREATED, E.PR_CLOSED),
            S.AWAITING_APPROVAL: (E.PR_CLOSED,),
        },
        WorkerTaskEvent.STOP: {
            **_at_work((E.ADMIN_STOP,)),
            # Closing the review is the only way to BLOCKED that records neither a failed
            # verification nor a run that did not happen.
            S.VERIFYING: (E.PR_CREATED, E.PR_CLOSED),
            S.AWAITING_APPROVAL: (E.PR_CLOSED,),
        },
        WorkerTaskEvent.TOKENS_EXHAUSTED: {S.IN_PROGRESS: (E.TOKENS_EXHAUSTED,)},
        WorkerTaskEvent.QUESTION: {S.IN_PROGRESS: (E.AGENT_QUESTION,)},
        WorkerTaskEvent.REPLY: {S.WAITING_INPUT: (E.HUMAN_REPLIED,)},
        WorkerTaskEvent.INPUT_TIMEOUT: {S.WAITING_INPUT: (E.INPUT_TIMEOUT,)},
        WorkerTaskEvent.RESUME: {
            S.PAUSED: (E.RESUME_TIMER, E.ASSIGNED, E.AGENT_STARTED),
            S.FAILED: REWORK,
            S.BLOCKED: REWORK,
            S.DEFINED: REWORK,
            S.READY: REWORK[1:],
        },
        WorkerTaskEvent.CANCEL: {
            **_everywhere((E.USER_CANCELLED,)),
            S.COMPLETED: (),  # a worker's history may name a task that has ended since
            S.CANCELLED: (),
        },
        WorkerTaskEvent.RESET: _everywhere(()),
        WorkerTaskEvent.RECYCLE: _everywhere(()),
        WorkerTaskEvent.UNDO: {  # back to the queue; other events of the worker follow
            **dict.fromkeys(
                (S.COMPLETED, S.CANCELLED, S.FAILED, S.BLOCKED, S.DEFINED, S.ASSIGNED),
                (E.ADMIN_RESTART,),
            ),
            S.READY: (),
        },
    }
)

# The task event that a refusal names, for each event of the worker that can be refused.
NAMED: Mapping[WorkerTaskEvent, E] = MappingProxyType(
    {
        WorkerTaskEvent.ASSIGN: E.ASSIGNED,
        WorkerTaskEvent.START: E.AGENT_STARTED,
        WorkerTaskEvent.SETUP_FAILED: E.EXECUTION_ERROR,
        WorkerTaskEvent.SUBMIT: E.AGENT_COMPLETED,
        WorkerTaskEvent.MERGE: E.VERIFY_PASSED,
        WorkerTaskEvent.REQUEST_CHANGES: E.ADMIN_RESTART,
        WorkerTaskEvent.MERGE_CONFLICT: E.ADMIN_RESTART,
        WorkerTaskEvent.VERIFY_FAILED: E.VERIFY_FAILED,
        WorkerTaskEvent.FAIL: E.AGENT_FAILED,
        WorkerTaskEvent.RETRY: E.RETRY,
        WorkerTaskEvent.RECOVERY: E.RECOVERY,
        WorkerTaskEvent.EXPIRE: E.RECOVERY,
        WorkerTaskEvent.TIMEOUT: E.TIMEOUT,
        WorkerTaskEvent.PR_CLOSED: E.PR_CLOSED,
        WorkerTaskEvent.STOP: E.ADMIN_STOP,
        WorkerTaskEvent.TOKENS_EXHAUSTED: E.TOKENS_EXHAUSTED,
        WorkerTaskEvent.QUESTION: E.AGENT_QUESTION,
        WorkerTaskEvent.REPLY: E.HUMAN_REPLIED,
        WorkerTaskEvent.INPUT_TIMEOUT: E.INPUT_TIMEOUT,
        WorkerTaskEvent.RESUME: E.RESUME_TIMER,
        WorkerTaskEvent.UNDO: E.ADMIN_RESTART,
    }
)


def _hint(by_status: ByStatus) -> str:
    names = ", ".join(by_status)
    return f"possible while the task is {names}; to see its status: git worker status"
