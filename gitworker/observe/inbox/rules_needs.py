"""The things that need a reader: which states, questions and budgets. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from gitworker.model.message import MessageType
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.states.question import LATE, OPEN

BLOCKED = "blocked"
FAILED = "failed"
LANDING = "landing"
REVIEW = "review"
STALE = "stale"
# The states of a worker in which `hq` has to act, most urgent first.
NEEDS: Mapping[WorkerState, str] = MappingProxyType(
    {
        WorkerState.FAILED: FAILED,
        WorkerState.STALE: STALE,
        WorkerState.IN_REVIEW: REVIEW,
        WorkerState.APPROVED: LANDING,
    }
)
RETURNED = "returned"
IDLE = "idle"
PAUSED = "paused"
QUESTION = "question"
MESSAGE = "message"
BUDGET = "budget"
STATE = "branch"  # the state of a branch or worktree, which is no message
URGENCY = (
    QUESTION, BLOCKED, FAILED, STALE, BUDGET, PAUSED, IDLE, STATE, RETURNED, REVIEW, LANDING,
    MESSAGE,
)  # fmt: skip
# Tasks in these statuses need no agent, so their budget stops nothing.
WITHOUT_AGENT = frozenset(
    {TaskStatus.COMPLETED, TaskStatus.CANCELLED, TaskStatus.VERIFYING, TaskStatus.AWAITING_APPROVAL}
)
ENDED = frozenset({WorkerState.IDLE, WorkerState.COMPLETED, WorkerState.FAILED})


def need_of(
    state: WorkerState,
    *,
    stale_from: WorkerState | None,
    waits_for_author: bool,
    is_blocked: bool,
    is_idle: bool = False,
    is_paused: bool = False,
) -> str | None:
    """Return the kind of thing for which a worker needs `hq`; None if it needs nothing.

    `is_blocked`: that is the status in its last heartbeat. `is_idle`: its agent has ended without
    handing anything in, at work or before it became stale. `is_paused`: its
    agent is stopped and can continue.
    """
    if state is WorkerState.WORKING:
        facts = {PAUSED: is_paused, RETURNED: waits_for_author, BLOCKED: is_blocked, IDLE: is_idle}
        return next((kind for kind, is_so in facts.items() if is_so), None)
    if state is WorkerState.STALE and stale_from is WorkerState.IN_REVIEW:
        state = WorkerState.IN_REVIEW
    if state is WorkerState.STALE and is_idle:
        return IDLE
    return NEEDS.get(state)


def is_retried(status: TaskStatus) -> bool:
    """Return whether a run that is alive tries the task of a failed worker again by itself."""
    return status in (TaskStatus.FAILED, TaskStatus.READY)


def is_open_question(
    type: str, *, is_unread: bool, state: WorkerState | None, is_current: bool
) -> bool:
    """Return whether an unanswered message is a question that still waits for its answer.

    `state` is the asking worker's, None for another agent; `is_current`: it still has that task.
    """
    if type != MessageType.QUESTION:
        return False
    return is_unread or state is None or (is_current and state not in ENDED)


def stops_work(tasks: Collection[TaskStatus]) -> bool:
    """Return whether a budget that is reached stops one of the tasks with these statuses."""
    return not WITHOUT_AGENT.issuperset(tasks)


def budget_words(task: str | None, used: int, budget: int) -> str:
    """Return the effect of a budget that is reached: of a task, or of a project without one."""
    effect = "no agent starts on it" if task else "none of its tasks starts"
    return f"{used:,} of {budget:,} tokens are used, so {effect}"


def budget_command(project: str, task: str | None) -> str:
    """Return the command that raises a budget."""
    if task is not None:
        return f"git worker task edit {task} --budget <number>"
    return f"git worker project edit {project} --budget <number>"


def is_asked(type: str) -> bool:
    """Return whether a message is a question."""
    return type == MessageType.QUESTION


def can_be_answered(state: str) -> bool:
    """Return whether a recorded question waits for its answer."""
    return state in (OPEN, LATE)
