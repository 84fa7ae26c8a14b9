"""Decisions about a worker. Pure: facts in, a verdict or an error out."""

from gitworker.errors import GitWorkerError, Invalid, Refused
from gitworker.model.ids import RESERVED
from gitworker.model.task import TaskStatus
from gitworker.model.worker import ReturnReason, WorkerState
from gitworker.states.task_machine import HELD, status_words
from gitworker.states.worker_machine import state_words

ASSIGNING = frozenset({"spawn", "adopt"})
RETRY_MAX_S = 3600
FREE = frozenset({WorkerState.IDLE, WorkerState.COMPLETED})
NO_HEARTBEAT_NEEDED = frozenset({TaskStatus.PAUSED, TaskStatus.WAITING_INPUT})
HELP_WORDS = frozenset({"TASK", "TEXT", "WORKER"})  # the placeholders of the help
ENDED_HINTS = {
    TaskStatus.COMPLETED: "git worker list   # this work has landed: choose another task id",
    TaskStatus.CANCELLED: "git worker task restart {}   # or undo it: git worker undo --list",
    TaskStatus.BLOCKED: "git worker task restart {}",
}
SETUP_FAILED = "setup: "  # begins the error of a worker whose setup failed


def assigns_worker(kind: str) -> bool:
    """Return whether an operation gives a worker its task, under the lock of the worktrees."""
    return kind in ASSIGNING


def is_landed(state: WorkerState) -> bool:
    """Return whether a worker's task has landed, so that it is recycled before its next one."""
    return state is WorkerState.COMPLETED


def is_judged(state: WorkerState) -> bool:
    """Return whether a worker's work has its approval, or has landed with it."""
    return is_approved(state) or is_landed(state)


def has_no_task(state: WorkerState) -> bool:
    """Return whether a worker has no task."""
    return state is WorkerState.IDLE


def is_assigned(state: WorkerState) -> bool:
    """Return whether a worker has its task and no agent has started yet."""
    return state is WorkerState.ASSIGNED


def is_approved(state: WorkerState) -> bool:
    """Return whether a worker waits to be merged."""
    return state is WorkerState.APPROVED


def has_failed(state: WorkerState) -> bool:
    """Return whether a worker has failed at its task."""
    return state is WorkerState.FAILED


def has_failed_setup(state: WorkerState, error: str | None) -> bool:
    """Return whether the setup commands of a worker's worktree were its last failure."""
    return has_failed(state) and (error or "").startswith(SETUP_FAILED)


def waits_for_review(state: WorkerState, stale_from: WorkerState | None) -> bool:
    """Return whether a worker waits for a verdict; a review that takes long still waits."""
    return WorkerState.IN_REVIEW in (state, stale_from)


def is_stale(state: WorkerState) -> bool:
    """Return whether a worker must be resumed before any other change."""
    return state is WorkerState.STALE


def repeats_conflict(returned_by: str | None, returned_tip: str | None, tip: str) -> bool:
    """Return whether a commit was sent back for its conflict, so that it must change first."""
    return returned_by == ReturnReason.MERGE_CONFLICT and returned_tip == tip


def repeats_review(returned_by: str | None, returned_tip: str | None, tip: str) -> bool:
    """Return whether changes were requested of this very commit, so that an answer is missing."""
    return returned_by == ReturnReason.CHANGES_REQUESTED and returned_tip == tip


def repeats_failure(returned_by: str | None, returned_tip: str | None, tip: str) -> bool:
    """Return whether a commit is handed in unchanged after its verification failed."""
    return returned_by == ReturnReason.VERIFY_FAILED and returned_tip == tip


def is_unanswered(returned_by: str | None, returned_tip: str | None, tip: str | None) -> bool:
    """Return whether a verdict sent these very commits back, so that nothing answers it yet."""
    return returned_by not in (None, ReturnReason.WITHDRAWN) and returned_tip == tip


def needs_no_heartbeat(status: TaskStatus) -> bool:
    """Return whether a task needs no heartbeat: it is paused or waits for an answer."""
    return status in NO_HEARTBEAT_NEEDED


def is_paused(status: TaskStatus) -> bool:
    """Return whether a task waits for the end of a limit, with its worker."""
    return status is TaskStatus.PAUSED


def waits_for_retry(status: TaskStatus) -> bool:
    """Return whether a task has failed and may be tried again later."""
    return status is TaskStatus.FAILED


def retry_wait_ms(task: str, *, delay_s: int, count: int) -> int:
    """Return the back-off before a task's next attempt: doubled with each, one hour at most.

    Up to a tenth more, by the task's id, so that tasks that failed together start apart.
    """
    wait_ms = min(delay_s << min(count, 10), max(delay_s, RETRY_MAX_S)) * 1000
    spread = sum(number * ord(char) for number, char in enumerate(task, 7)) * 31 + count * 377
    return wait_ms + wait_ms * (spread % 1000) // 10_000


def is_cancelled(status: TaskStatus) -> bool:
    """Return whether a task was cancelled."""
    return status is TaskStatus.CANCELLED


def verification_ends(status: TaskStatus, *, retries_left: bool) -> bool:
    """Return whether a failed verification is the end of a task: a review round is no retry."""
    return status is TaskStatus.VERIFYING and not retries_left


def waits_for_dependencies(status: TaskStatus) -> bool:
    """Return whether a task's dependencies still decide about it."""
    return status in (TaskStatus.DEFINED, TaskStatus.READY)


def busy_refusal(
    worker: str,
    state: WorkerState,
    held_task: str | None,
    *,
    stale_from: WorkerState | None = None,
    waiting: tuple[str, str] | None = None,
) -> GitWorkerError | None:
    """Return why a worker cannot take a task, or None if it can.

    `waiting`: its work was sent back, and waits for its author: the words and the next command.
    """
    if state in FREE:
        return None
    if state is WorkerState.FAILED:
        return Refused(
            f"worker {worker} has failed at task {held_task}, so it cannot take another",
            f"git worker reset {worker}",
        )
    words, hint = waiting or (state_words(state, stale_from), f"git worker show {worker}")
    if state is WorkerState.ASSIGNED:
        hint += f"   # to change its text: git worker task edit {held_task} -m <text>"
    return Refused(
        f"worker {worker} holds task {held_task} and {words}, so it cannot take another", hint
    )


def name_refusal(worker: str, task: str) -> GitWorkerError | None:
    """Return why a new task cannot have a name: it is a placeholder of the help; else None."""
    if task not in HELP_WORDS:
        return None
    return Invalid(
        f"{task} is the placeholder of the help for a task's name; write the name itself",
        f"git worker spawn {worker} <task>",
    )


def task_refusal(
    task: str,
    status: TaskStatus,
    *,
    waits_for: list[str],
    holder: str | None,
    retries_left: bool,
    held: bool = False,
) -> GitWorkerError | None:
    """Return why a task cannot be assigned, or None if it can."""
    if status in HELD:
        return Refused(
            f"task {task} {status_words(status)}, held by {holder or 'another worker'}",
            f"git worker show {holder or task}",
        )
    if status in ENDED_HINTS and not (status is TaskStatus.BLOCKED and retries_left):
        return Refused(f"task {task} {status_words(status)}", ENDED_HINTS[status].format(task))
    if status is TaskStatus.FAILED and not retries_left:
        return Refused(
            f"task {task} has failed and has no retries left", f"git worker task restart {task}"
        )
    if waits_for_dependencies(status) and waits_for:
        return Refused(
            f"task {task} waits for {', '.join(waits_for)}", f"git worker task why {task}"
        )
    if held:
        return Refused(f"task {task} is held back", f"git worker task release {task}")
    return None


# What a worker that may not judge its own work does instead, unless it waits for the verdict.
OWN_WORK_HINTS = {
    WorkerState.IDLE: "git worker show {}",
    WorkerState.ASSIGNED: "git worker done",
    WorkerState.WORKING: "git worker done",
    WorkerState.FAILED: "git worker done",
    WorkerState.APPROVED: "git worker wait {} --for landed   # by another; setting: review.self",
    WorkerState.COMPLETED: "git worker show {}",
}


def may_judge(
    actor: str, worker: str, *, self_review: bool, state: WorkerState | None = None
) -> GitWorkerError | None:
    """Return why `actor` must not review `worker`'s work, which is in `state`, or None.

    Every worker may review the work of others, and its own only with `review.self`.
    """
    if actor in RESERVED or (self_review and actor == worker):
        return None
    if actor == worker:
        hint = "git worker wait {} --for verdict   # by another worker; setting: review.self"
        if state is not None:
            hint = OWN_WORK_HINTS.get(state, hint)
        return Refused(
            f"worker {worker} cannot review its own work", hint.format(worker), code="not_allowed"
        )
    return None
