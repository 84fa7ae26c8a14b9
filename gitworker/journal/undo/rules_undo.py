"""What decides whether an act can be taken back now. Pure: facts in, a refusal or None out."""

from collections.abc import Sequence
from dataclasses import dataclass

from gitworker.errors import GitWorkerError, Refused
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState

FREE = frozenset({WorkerState.IDLE, WorkerState.COMPLETED})


@dataclass(frozen=True, slots=True)
class Landing:
    """A landed window as it stands now: the target took `old..new`.

    `tip` is where the target is, `remote` who has the commits too, `builders` are workers whose
    branches were begun on them.
    """

    target: str
    old: str
    new: str
    tip: str | None
    remote: str | None = None
    builders: Sequence[str] = ()


def landing_refusal(landing: Landing) -> GitWorkerError | None:
    """Return why a landed window cannot be taken back, and what to run instead, or None.

    Only what nobody has seen or built upon goes: anything else is reverted by a new commit.
    """
    if landing.remote is not None:
        why = f"{landing.remote} has it already"
    elif landing.tip is None:
        why = f"there is no branch {landing.target} any more"
    elif landing.tip != landing.new:
        why = f"{landing.target} has moved on since"
    elif landing.builders:
        why = f"{listed(landing.builders)} builds on it"
    else:
        return None
    span = f"{landing.old[:12]}..{landing.new[:12]}"
    return Refused(
        f"the landing cannot be undone: {why}",
        f"git revert {span}   (new commits that take it back)",
        code="landed_for_good",
    )


def seat_refusal(
    worker: str, state: WorkerState, *, same_task: bool, has_task: bool
) -> GitWorkerError | None:
    """Return why a seat whose work had landed cannot go on with it, or None.

    It is where the landing left it, or was made free since.
    """
    if state in FREE and (same_task or not has_task):
        return None
    return Refused(
        f"the landing cannot be undone: worker {worker} is {state} with another task by now",
        f"git worker show {worker}",
        code="moved_on",
    )


def is_completed(status: TaskStatus) -> bool:
    """Tell whether a task counts as done, so that it has to be opened when its work goes."""
    return status is TaskStatus.COMPLETED


def later_refusal(kind: str, later: tuple[int, str] | None) -> GitWorkerError | None:
    """Return what has to be undone first, `later` being number and kind of what came after."""
    if later is None:
        return None
    number, what = later
    return Refused(
        f"the {kind} cannot be undone before what came after it: {what} ({number})",
        f"git worker undo {number}",
        code="later_first",
    )


def listed(names: Sequence[str]) -> str:
    """Return names as a short list for a message."""
    shown = ", ".join(names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
