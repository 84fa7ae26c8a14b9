"""Decide whether an operation can be undone now. Pure: facts in, a refusal or None out."""

from collections.abc import Sequence
from dataclasses import dataclass

from gitworker.errors import GitWorkerError, Refused
from gitworker.model.ids import RESERVED
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerEvent, WorkerState
from gitworker.rules_text import REMARK
from gitworker.states.task_machine import HELD, status_words
from gitworker.states.worker_machine import state_words

REVIEW_STATES = {WorkerState.IN_REVIEW: "pending", WorkerState.APPROVED: "approved"}
FREE = frozenset({WorkerState.IDLE, WorkerState.COMPLETED})
LANDED_FOR_GOOD = "landed_for_good"
# Codes of refusals that no repair ends: later work, another repository or git's own gc decided. All
# others, as files in the way or an open rebase, end once the user has repaired the cause.
PAST = frozenset({
    LANDED_FOR_GOOD, "moved_on", "later_first", "branch_moved", "commits_gone", "nothing_kept",
    "not_allowed",
})  # fmt: skip
UNDONE_FROM = {
    "adopt": frozenset({WorkerState.ASSIGNED, WorkerState.FAILED}),  # failed: by its setup
    "approve": frozenset({WorkerState.APPROVED}),
    "cancel": frozenset({WorkerState.IDLE}),
    "reset": frozenset({WorkerState.IDLE}),
    "remove": frozenset({WorkerState.COMPLETED}),
}


@dataclass(frozen=True, slots=True)
class LandedWindow:
    """A landed window as it is now: it moved the target from `old` to `new`.

    `tip` is the target's commit now, `remote` a remote that has the commits too, `builders` are
    workers whose branches start from them.
    """

    target: str
    old: str
    new: str
    tip: str | None
    remote: str | None = None
    builders: Sequence[str] = ()


def landing_refusal(landing: LandedWindow) -> GitWorkerError | None:
    """Return why a landed window cannot be undone, with the command to run instead, or None.

    Only commits that no remote and no other branch has are removed; others need a revert.
    """
    if landing.remote is not None:
        why = f"{landing.remote} already has it"
    elif landing.tip is None:
        why = f"branch {landing.target} does not exist"
    elif landing.tip != landing.new:
        why = f"{landing.target} has moved since"
    elif landing.builders:
        verb = "builds" if len(landing.builders) == 1 else "build"
        why = f"{listed(landing.builders)} {verb} on it"
    else:
        return None
    span = f"{landing.old[:12]}..{landing.new[:12]}"
    return Refused(
        f"the landing cannot be undone: {why}",
        f"git revert {span}   # new commits that revert it",
        code=LANDED_FOR_GOOD,
    )


def worker_refusal(
    worker: str, state: WorkerState, *, same_task: bool, has_task: bool
) -> GitWorkerError | None:
    """Return why a worker whose work had landed cannot continue it, or None.

    It can if it still has the task, or has no task.
    """
    if state in FREE and (same_task or not has_task):
        return None
    return Refused(
        f"the landing cannot be undone: worker {worker} now has another task and"
        f" {state_words(state)}",
        f"git worker show {worker}",
        code="moved_on",
    )


def events_back(
    state: WorkerState, stale_from: WorkerState | None, *, approved: bool, task: TaskStatus
) -> tuple[WorkerEvent, ...]:
    """Return the events that lead an IDLE worker back to the state before an operation.

    A STALE worker returns to the state before it was stale. `approved` is whether its approval is
    still the last verdict. `task` is the status of the task before the undo: a BLOCKED one was
    stopped, and any other one failed.
    """
    if state is WorkerState.STALE:
        state = stale_from or WorkerState.WORKING
    failure = WorkerEvent.STOP if task is TaskStatus.BLOCKED else WorkerEvent.FAIL
    further = {
        WorkerState.ASSIGNED: (),
        WorkerState.IN_REVIEW: (WorkerEvent.START, WorkerEvent.SUBMIT),
        WorkerState.APPROVED: (
            WorkerEvent.START, WorkerEvent.SUBMIT, *((WorkerEvent.APPROVE,) if approved else ()),
        ),
        WorkerState.FAILED: (WorkerEvent.START, failure),
    }  # fmt: skip
    return (WorkerEvent.ASSIGN, *further.get(state, (WorkerEvent.START,)))


def review_state_of(state: WorkerState) -> str | None:
    """Return the state of the review in a state of the worker, or None outside of a review."""
    return REVIEW_STATES.get(state)


def is_completed(status: TaskStatus) -> bool:
    """Return whether a task counts as done, so that it must be reopened if its work is removed."""
    return status is TaskStatus.COMPLETED


def later_refusal(kind: str, later: tuple[int, str] | None) -> GitWorkerError | None:
    """Return a refusal that names the later operation, `later`, by its number and kind."""
    if later is None:
        return None
    number, later_kind = later
    return Refused(
        f"the {kind} cannot be undone before the later {later_kind} ({number})",
        f"git worker undo {number}",
        code="later_first",
    )


def withdrawn_refusal(task: str, status: TaskStatus) -> GitWorkerError:
    """Return the refusal after a task without a worker was cancelled or skipped."""
    verb = "skipped" if is_completed(status) else "cancelled"
    return Refused(
        f"task {task} was {verb}, which undo does not reverse",
        f"git worker task restart {task}",
        code="later_first",
    )


def is_past(error: GitWorkerError) -> bool:
    """Return whether an operation refused with this error can never be undone."""
    return error.code in PAST


def skip_refusal(
    skipped: Sequence[tuple[GitWorkerError, bool]], *, is_own: bool, moves_target: bool
) -> GitWorkerError | None:
    """Return the error of a newer operation that must not be skipped, or None.

    `skipped` are the errors of the newer operations, each with whether it is the caller's own;
    `is_own` and `moves_target` are those of the older one. The user can repair the cause of an
    error that is not past. An operation of another caller, and a landing, are not undone in place
    of the one that the user meant.
    """
    if not is_own:
        return skipped[0][0] if skipped else None
    own = [error for error, is_callers in skipped if is_callers]
    if own and moves_target:
        return own[0]
    return next((error for error in own if not is_past(error)), None)


def skipped_words(error: GitWorkerError) -> str:
    """Return why an operation was skipped; for a landing, with the command that reverts it."""
    if error.code != LANDED_FOR_GOOD or not error.hint:
        return error.message
    return f"{error.message} (to revert it: {error.hint.partition(REMARK)[0]})"


def with_older(error: GitWorkerError, older: tuple[int, str], workers: str) -> GitWorkerError:
    """Return the refusal of the newest operation with the number, kind and workers of an older one.

    The hint remains the command for the newest one; the other command is its remark.
    """
    number, kind = older
    named = f"{kind} {number} of {workers}" if workers else f"{kind} {number}"
    command, _, remark = (error.hint or "git worker undo --list").partition(REMARK)
    remarks = f"{remark}; " if remark else ""
    return Refused(
        f"{error.message}; the newest operation that can be undone is {named}",
        f"{command}{REMARK}{remarks}or undo the older one: git worker undo {number}",
        code=error.code,
    )


def listed(names: Sequence[str]) -> str:
    """Return names as a short list for a message."""
    shown = ", ".join(names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def may_undo(actor: str, operation_actor: str, *, self_review: bool) -> GitWorkerError | None:
    """Return why `actor` must not undo an operation of `operation_actor`, or None."""
    if actor in RESERVED or actor == operation_actor or self_review:
        return None
    return Refused(
        f"worker {actor} cannot undo an operation of {operation_actor}",
        "ask the user of the repository to undo it",
        code="not_allowed",
    )


def undo_refusal(
    kind: str, *, worker: str, state: WorkerState, same_task: bool
) -> GitWorkerError | None:
    """Return why an operation on a worker can no longer be undone, or None.

    The worker must still have the state that the operation gave it, and the same task if it had
    one.
    """
    if state in UNDONE_FROM[kind] and (same_task or state is WorkerState.IDLE):
        return None
    return Refused(
        f"the last {kind} cannot be undone: worker {worker} {state_words(state)} now",
        f"git worker show {worker}",
        code="moved_on",
    )


def taken_back_as(state: WorkerState) -> str:
    """Return the task's event for an undone adoption in this state of the worker."""
    if state is WorkerState.ASSIGNED:
        return "undo"
    return "reset" if state is WorkerState.FAILED else "cancel"


def done_refusal(task: str, status: TaskStatus) -> GitWorkerError | None:
    """Return why a task that was taken from a worker cannot return to it, or None: it is done."""
    if status is not TaskStatus.COMPLETED:
        return None
    return Refused(
        f"task {task} {status_words(status)} now", f"git worker task show {task}",
        code="moved_on",
    )  # fmt: skip


def return_refusal(task: str, status: TaskStatus, *, holder: str | None) -> GitWorkerError | None:
    """Return why a task cannot return to the worker that had it, or None.

    `holder` is another worker that has the task now.
    """
    if holder is None and status not in HELD:
        return None
    return Refused(
        f"task {task} {status_words(status)} now, held by {holder or 'another worker'}",
        f"git worker show {holder or task}",
        code="moved_on",
    )
