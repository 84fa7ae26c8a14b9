"""Decisions about the rounds of an agent, and the prompt of one. Pure."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.run_outcome import RATE_LIMIT, USAGE_LIMIT
from gitworker.model.worker import AUTOMATIC_RETURNS, ReturnReason, WorkerState

if TYPE_CHECKING:
    from collections.abc import Sequence

HANDED_IN = frozenset({WorkerState.IN_REVIEW, WorkerState.APPROVED})
HEADS = {
    ReturnReason.CHANGES_REQUESTED: "changes were requested.",
    ReturnReason.MERGE_CONFLICT: "it conflicts with {target}.",
    ReturnReason.VERIFY_FAILED: "the verify commands failed.",
}
FIRST_PAUSE_S = {RATE_LIMIT: 60, USAGE_LIMIT: 900}
PAUSE_MAX_S = 3600
PAUSES_MAX = 24  # in a row, without work that was handed in
MARGIN_S = 1.0  # after the end of a limit
CONTINUED = (
    "The limit of your model has ended. Continue your task. `git worker show` prints its state and"
    " `git worker inbox` its messages."
)
SENT_BACK = " was sent back: "
SYNC = """\
Run `git worker sync`, which rebases your branch. If it stops, resolve the conflicts, `git add` the
files, and run `git worker sync --continue`."""
OPEN_COMMENTS = "The comments of the review that are open:"
ANSWER = """\
Record each comment that you have dealt with: `git worker review handled NUMBER` after the commit, \
or with `-m 'Why not'` if nothing is to be changed."""
REST = """\
Correct this in the present directory and commit. Your commits are handed in again when you end; \
without a new commit they are not."""


class Step(Enum):
    """The next step after the end of an agent."""

    WAIT = "wait"
    RESUME = "resume"
    PAUSE = "pause"  # until the end of a limit
    END = "end"


class RoundFacts(NamedTuple):
    """A worker after the end of its agent; `is_ours`: with the task and the run of that agent.

    `has_limit`: the task is paused, because the agent reported a limit of its model's vendor.
    `is_stopped`: an order to stop came after the end of the agent.
    """

    state: WorkerState
    stale_from: WorkerState | None
    is_ours: bool
    returned_by: str | None
    waits_for_author: bool
    has_limit: bool = False
    is_stopped: bool = False


class Return(NamedTuple):
    """The reason for which work came back, for its author; `log` is the end of the verify log.

    `comments` are the lines of the review comments that are still open.
    """

    branch: str
    target: str
    reason: str
    note: str
    files: Sequence[str]
    log_path: str
    log: Sequence[str]
    task_text: str
    comments: Sequence[str] = ()


def next_step(facts: RoundFacts) -> Step:
    """Return WAIT while a verdict can come, RESUME if the work came back, PAUSE at a limit.

    END otherwise: an agent that ended without handing in anything is not started again.
    """
    if facts.is_stopped or not facts.is_ours:
        return Step.END
    state = facts.stale_from if facts.state is WorkerState.STALE else facts.state
    if state in HANDED_IN:
        return Step.WAIT
    if facts.has_limit and state is WorkerState.WORKING:
        return Step.PAUSE
    came_back = facts.waits_for_author and facts.returned_by in AUTOMATIC_RETURNS
    return Step.RESUME if came_back and state is WorkerState.WORKING else Step.END


def is_open_return(returned_by: str | None, *, waits_for_author: bool, is_unchanged: bool) -> bool:
    """Return whether the reason of a return is still the task of the next run.

    `is_unchanged`: no commit has followed the one that was sent back.
    """
    return returned_by in AUTOMATIC_RETURNS and (waits_for_author or is_unchanged)


def pause_s(kind: str, resets_at_ms: int | None, *, tries: int, now: int) -> float:
    """Return for how long a limit is waited for: until its end, if that is known and not over.

    Otherwise twice as long with each try in a row, but one hour at most.
    """
    if resets_at_ms is not None and resets_at_ms > now:
        return (resets_at_ms - now) / 1000 + MARGIN_S
    return float(min(FIRST_PAUSE_S[kind] * 2 ** (tries - 1), PAUSE_MAX_S))


def round_prompt(back: Return) -> str:
    """Return the prompt of the next round: the reason, what to do, and the task once more."""
    head = HEADS[ReturnReason(back.reason)].format(target=back.target)
    parts = [f"Your work on {back.branch}{SENT_BACK}{head}", back.note]
    if back.comments:
        parts.append("\n".join((OPEN_COMMENTS, *(f"  {line}" for line in back.comments))))
        parts.append(ANSWER)
    if back.files:
        parts.append("\n".join(("The files in conflict:", *(f"  {name}" for name in back.files))))
    if back.reason == ReturnReason.MERGE_CONFLICT:
        parts.append(SYNC)
    if back.log:
        lines = (f"  {line}" for line in back.log)
        parts.append("\n".join((f"The end of the log {back.log_path}:", *lines)))
    parts.append(REST)
    if back.task_text:
        parts.append(f"The task was:\n\n{back.task_text}")
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
