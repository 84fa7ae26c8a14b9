"""What the views say of one worker: its next command, its news, its liveness. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from gitworker.config import Settings
from gitworker.liveness.rules_stale import (
    ClockReading,
    Heartbeat,
    Liveness,
    heartbeat_age_ms,
    liveness_of,
    sync_request,
)
from gitworker.model.task import TaskStatus
from gitworker.model.worker import ReturnReason, WorkerState
from gitworker.states.worker_machine import NEXT_COMMANDS, OWN_NEXT

# In the other states silence is normal: no agent has started, or a reviewer or the queue is next.
SENDS_HEARTBEATS = frozenset({WorkerState.WORKING, WorkerState.STALE})
SHOULD_HAVE_WORKTREE = frozenset(
    {
        WorkerState.ASSIGNED,
        WorkerState.WORKING,
        WorkerState.IN_REVIEW,
        WorkerState.APPROVED,
        WorkerState.STALE,
    }
)
WAITS_FOR: Mapping[WorkerState, str] = MappingProxyType(
    {
        WorkerState.IDLE: "a task",
        WorkerState.ASSIGNED: "its agent to start",
        WorkerState.IN_REVIEW: "a review",
        WorkerState.APPROVED: "the merge",
        WorkerState.COMPLETED: "its next task",
        WorkerState.STALE: "a sign of life",
        WorkerState.FAILED: "a resume or a reset",
    }
)
TASK_WAITS_FOR: Mapping[TaskStatus, str] = MappingProxyType(
    {TaskStatus.WAITING_INPUT: "an answer", TaskStatus.PAUSED: "tokens"}
)
HANDED_IN = frozenset({WorkerState.IN_REVIEW, WorkerState.APPROVED})
NEEDS_HELP = frozenset({WorkerState.STALE, WorkerState.FAILED})
# The order of `status`: workers at work, those that wait for a verdict, those that need help.
PLACES: Mapping[WorkerState, int] = MappingProxyType(
    {
        WorkerState.WORKING: 0,
        WorkerState.ASSIGNED: 1,
        WorkerState.IN_REVIEW: 2,
        WorkerState.APPROVED: 3,
        WorkerState.STALE: 4,
        WorkerState.FAILED: 5,
        WorkerState.COMPLETED: 6,
        WorkerState.IDLE: 7,
    }
)
CONFLICT = ReturnReason.MERGE_CONFLICT.value
# The states in which work that was sent back is not handed in again.
RETURNABLE = frozenset({WorkerState.WORKING, WorkerState.STALE, WorkerState.FAILED})
OLD_MS = 24 * 60 * 60 * 1000
SYNC_NEXT = "sync --as {}"
COMMIT_NEXT = "done {} --commit -m <text>"
# The agent may have finished its work without a commit; `resume` would start it again.
LEFT_NEXT = f"{COMMIT_NEXT}   # or take it up again: git worker resume {{}}"
# The author of sent-back work; its branch has not moved since.
RETURNED_NEXT: Mapping[str, str] = MappingProxyType(
    {
        CONFLICT: SYNC_NEXT,
        "changes_requested": "done {}   # after your next commit",
        "verify_failed": "done {}   # after your next commit",
    }
)
RESUMED_NEXT = "resume {}"
# An agent ran by a command that is not recorded, so `resume` would start none.
STARTED_NEXT = "resume {} -- <command>"
# `start` would bind the worker to the reader's own process.
HQ_NEXT: Mapping[WorkerState, str] = MappingProxyType(
    {WorkerState.ASSIGNED: "exec {} -- <command>"}
)
FREE = frozenset({WorkerState.IDLE, WorkerState.COMPLETED})
# Tasks that continue only by a command.
STOPPED_TASKS = (TaskStatus.BLOCKED, TaskStatus.FAILED)
REVIEWED = frozenset({TaskStatus.VERIFYING, TaskStatus.AWAITING_APPROVAL})
# A task that has ended, or that another worker has, cannot be resumed.
ENDED = frozenset({TaskStatus.COMPLETED, TaskStatus.CANCELLED})
ENDED_NEXT = "reset {}"
TASK_NEXT: Mapping[TaskStatus, str] = MappingProxyType(
    {TaskStatus.WAITING_INPUT: "reply {} <text>", TaskStatus.PAUSED: "resume {}"}
)


class ParentFirst(NamedTuple):
    """Why a stacked worker cannot be approved yet, and the command that changes it."""

    words: str
    command: str


class Reading(NamedTuple):
    """The identity of the reader; `self_review`: a worker may review its own work."""

    actor: str
    self_review: bool = False

    def is_author(self, worker: str) -> bool:
        """Return whether the reader is the worker itself."""
        return self.actor == worker


def stopped_among(statuses: Iterable[str]) -> list[str]:
    """Return the statuses of tasks that continue only by a command, as `task list` takes them."""
    found = set(statuses)
    return [one.value.lower() for one in STOPPED_TASKS if one.value in found]


def waits_for(
    state: WorkerState, *, task_status: TaskStatus | None, stale_from: WorkerState | None
) -> str | None:
    """Return the thing that a worker waits for, as words after `waits for`; None at work."""
    awaited = TASK_WAITS_FOR.get(task_status) if task_status else None
    if state is WorkerState.WORKING:
        return awaited
    if state is WorkerState.STALE and stale_from is WorkerState.IN_REVIEW:
        return "an overdue review"
    return WAITS_FOR[state]


def next_command(
    worker: str,
    state: WorkerState,
    *,
    task_status: TaskStatus | None,
    stale_from: WorkerState | None,
    reader: Reading,
    returned_by: str | None = None,
    waits_for_author: bool = False,
    has_uncommitted: bool | None = None,
    has_commits: bool = False,
    is_taken: bool = False,
    agent_end: str | None = None,
    can_repeat: bool | None = None,
    runs_elsewhere: bool = False,
) -> str:
    """Return the command that usually comes next for a worker, for the one who reads it.

    Others never hand in the work of a worker at work: they wait for it. `has_uncommitted`: its
    worktree has work that is not committed (None: not known). `has_commits`: its branch has commits
    that the target lacks. `is_taken`: another worker has its
    task now. `agent_end`: its agent ended for this reason ("" if it succeeded) and handed nothing
    in. `can_repeat`: the last command of its task is known; None: no agent ran on it.
    `runs_elsewhere`: its process runs, and is not above the reader's.
    """
    if state is WorkerState.STALE and stale_from is WorkerState.IN_REVIEW:
        state = stale_from
    is_author = reader.is_author(worker)
    resumed = _resumed_next(returned_by, is_author=is_author, can_repeat=can_repeat)
    if state is WorkerState.FAILED and (is_taken or task_status in ENDED):
        text = ENDED_NEXT
    elif state in NEEDS_HELP and (state is WorkerState.FAILED or agent_end != ""):
        text = LEFT_NEXT if has_uncommitted and returned_by != CONFLICT else resumed
    elif state not in SENDS_HEARTBEATS:
        own = {} if reader.self_review else OWN_NEXT
        text = (own if is_author else HQ_NEXT).get(state, NEXT_COMMANDS[state])
    elif task_status is not None and task_status in TASK_NEXT:
        text = TASK_NEXT[task_status]
    elif is_author:
        text = RETURNED_NEXT.get(returned_by or "", "done {}")
        text = COMMIT_NEXT if has_uncommitted and text != SYNC_NEXT else text
    elif waits_for_author and returned_by == CONFLICT and runs_elsewhere:
        return sync_request(worker)  # only that process can rebase the branch
    elif waits_for_author or agent_end or (agent_end == "" and returned_by == CONFLICT):
        text = resumed
    elif agent_end is not None:
        text = "done {}" if has_commits and returned_by is None else resumed
        text = "show {}" if has_uncommitted is None else text
        text = COMMIT_NEXT if has_uncommitted else text
    else:
        text = NEXT_COMMANDS[state]
    return f"git worker {text.format(*[worker] * text.count('{}'))}"


def wait_command(worker: str) -> str:
    """Return the next command while a worker goes on by itself."""
    return f"git worker {NEXT_COMMANDS[WorkerState.WORKING].format(worker)}"


def _resumed_next(returned_by: str | None, *, is_author: bool, can_repeat: bool | None) -> str:
    """Return the command that takes work up again; a conflict needs a rebase or its agent."""
    if returned_by == CONFLICT and (is_author or not can_repeat):
        return SYNC_NEXT
    return STARTED_NEXT if can_repeat is False and not is_author else RESUMED_NEXT


def worker_liveness(
    state: WorkerState,
    heartbeat: Heartbeat | None,
    moment: ClockReading,
    settings: Settings,
    *,
    waits_for_author: bool = False,
    task_status: TaskStatus | None = None,
    has_ended: bool = False,
) -> Liveness:
    """Return the liveness of a worker that should send heartbeats; `-` for the others.

    The silence of a worker that waits for its author, or whose task waits, means nothing, nor does
    the last heartbeat of an agent that `has_ended`.
    """
    if state not in SENDS_HEARTBEATS or heartbeat is None or has_ended:
        return Liveness.UNKNOWN
    found = liveness_of(heartbeat_age_ms(heartbeat, moment), settings)
    may_be_silent = waits_for_author or task_status in TASK_WAITS_FOR
    return Liveness.UNKNOWN if may_be_silent and found is not Liveness.OK else found


def is_at_work(state: WorkerState) -> bool:
    """Return whether a worker in this state should have a running agent."""
    return state is WorkerState.WORKING


def shows_subject(state: WorkerState) -> bool:
    """Return True if the last commit may be the news of a worker in this state."""
    return state is WorkerState.WORKING


def is_old(state: WorkerState, *, age_ms: int) -> bool:
    """Return True for a worker that completed its task more than a day ago."""
    return state is WorkerState.COMPLETED and age_ms > OLD_MS


def is_late_review(state: WorkerState, task_status: TaskStatus | None) -> bool:
    """Return whether work has waited so long for its review that its worker became STALE."""
    return state is WorkerState.STALE and task_status in REVIEWED


def is_free(state: WorkerState) -> bool:
    """Return whether a worker in this state can take a task."""
    return state in FREE


def is_approved(state: WorkerState) -> bool:
    """Return whether a worker in this state waits for its landing."""
    return state is WorkerState.APPROVED


def has_landed(state: WorkerState) -> bool:
    """Return whether a worker in this state has landed its task."""
    return state is WorkerState.COMPLETED


def should_have_worktree(state: WorkerState) -> bool:
    """Return whether a worker in this state needs its branch and its worktree."""
    return state in SHOULD_HAVE_WORKTREE


def resumes_in_place(state: WorkerState, *, task_status: TaskStatus | None, is_taken: bool) -> bool:
    """Return whether a failed worker can be resumed, for which it needs its worktree."""
    return state is WorkerState.FAILED and not is_taken and task_status not in ENDED


def may_rebase(
    state: WorkerState,
    stale_from: WorkerState | None,
    *,
    task_status: TaskStatus | None,
    is_taken: bool,
) -> bool:
    """Return whether a worker is at work, or was when it failed or became stale."""
    if state is WorkerState.FAILED:
        return resumes_in_place(state, task_status=task_status, is_taken=is_taken)
    return WorkerState.WORKING in (state, stale_from)


def news_of(
    state: WorkerState,
    *,
    error: str | None,
    trouble: str | None = None,
    returned: str | None,
    has_conflict: bool = False,
    end: str | None = None,
    problems: Sequence[str],
    waits: str | None,
    subject: str | None,
    elsewhere: str | None = None,
) -> str:
    """Return the most important fact about a worker.

    That is the error of a failed one, an unusual worktree or branch, the reason for which its work
    came back, the end of its agent, a failed verification or a conflict of its tip, the thing that
    it waits for, its last commit, or the machine of a fleet that has its branch. The files
    of a conflict, which `returned` names if it
    `has_conflict`, are shown beside an error or the trouble until the conflict is settled.
    """
    shown = [returned] if returned and has_conflict and is_returned(state) else []
    if state is WorkerState.FAILED and error:
        return "; ".join([*shown, error, *([trouble] if trouble else [])])
    if trouble is not None:
        return "; ".join([*shown, trouble])
    if returned is not None and is_returned(state):
        return returned
    if end is not None and state in SENDS_HEARTBEATS:
        return end
    if problems and state in SHOULD_HAVE_WORKTREE:
        return "; ".join(problems)
    if waits is not None:
        return f"waits for {waits}"
    return subject or (f"on {elsewhere}" if elsewhere else "no commit yet")


def is_handed_in(state: WorkerState, *, stale_from: WorkerState | None) -> bool:
    """Return whether a worker's commits were handed in and have not landed."""
    return state in HANDED_IN or (state is WorkerState.STALE and stale_from in HANDED_IN)


def end_text(agent_end: str | None) -> str:
    """Return the end of an agent that handed nothing in."""
    return f"its agent ended: {agent_end}" if agent_end else "its agent ended and handed nothing in"


def needs_help(state: WorkerState) -> bool:
    """Return whether a worker has failed or become stale."""
    return state in NEEDS_HELP


def needs_command(state: WorkerState, *, returned: bool) -> bool:
    """Return True if a worker continues only by a command that `status` names.

    `returned`: its work came back, or its agent ended.
    """
    return state in (*NEEDS_HELP, *OWN_NEXT) or (returned and is_returned(state))


def parent_first(worker: str, parent: str, parent_state: WorkerState | None) -> ParentFirst | None:
    """Return why a worker cannot be approved before the parent that it is stacked on, or None."""
    if parent_state is WorkerState.APPROVED:
        return None
    if parent_state in (WorkerState.ASSIGNED, WorkerState.WORKING):
        words = f"stacked on {parent}, and {parent} is at work"
        command = f"git worker wait {parent} && git worker approve {parent} {worker}"
        return ParentFirst(words, command)
    words = f"stacked on {parent}, and {parent} is not approved yet"
    if parent_state in NEEDS_HELP:
        command = f"git worker show {parent}"
    else:
        command = f"git worker approve {parent} {worker}"
    return ParentFirst(words, f"{command}   # or drop it: git worker cancel {parent}")


def is_taken(worker: str, task_holder: str | None) -> bool:
    """Return True if another worker has a worker's task."""
    return task_holder not in (None, worker)


def may_wait_for_limit(state: WorkerState, task_status: TaskStatus | None) -> bool:
    """Return whether a worker may wait for the end of a limit of its model's vendor."""
    return state is WorkerState.WORKING and task_status is TaskStatus.PAUSED


def waits_for_answer(task_status: TaskStatus | None) -> bool:
    """Return whether a task may have a question that is not answered yet."""
    return task_status in TASK_WAITS_FOR


def is_returned(state: WorkerState) -> bool:
    """Return True if the reason of the last return still counts for a worker in this state."""
    return state in RETURNABLE
