"""When a wait for a worker is over. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gitworker.errors import GitWorkerError, Invalid, Refused
from gitworker.model.ids import TaskId
from gitworker.model.worker import WorkerState

VERDICT, LANDED, REST = "verdict", "landed", "rest"
STATES: Mapping[str, WorkerState] = MappingProxyType(
    {state.value.lower(): state for state in WorkerState}
)
AT_WORK = frozenset({WorkerState.ASSIGNED, WorkerState.WORKING})
# From these a worker reaches no other state until a command gives it work again.
STOPPED = frozenset({WorkerState.FAILED, WorkerState.IDLE})
# Goals that only the worker's agent brings about, by handing work in.
OF_AGENT = frozenset({VERDICT, LANDED, "in_review", "approved", "completed"})


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """A worker at one moment; `has_verdict` and `has_landed` concern its task.

    `agent_ended`: its supervised agent has ended, and no supervisor waits to resume it.
    `is_unchanged`: the state is the one that the agent has left. `is_paused`: its agent is stopped.
    """

    worker: str
    state: WorkerState
    task: TaskId | None
    last_error: str | None
    waits_for_author: bool
    has_verdict: bool
    has_landed: bool
    stale_from: WorkerState | None = None
    agent_ended: bool = False
    is_unchanged: bool = False
    is_paused: bool = False

    @property
    def is_left(self) -> bool:
        """Return whether a worker that should be at work has no agent any more."""
        if self.state is WorkerState.STALE:
            return self.agent_ended and self.stale_from is WorkerState.WORKING
        was_left = self.agent_ended and (self.is_unchanged or self.waits_for_author)
        return was_left and self.state is WorkerState.WORKING


def parse_goal(text: str) -> str:
    """Return the goal of a wait: `verdict`, `landed`, or a state; else raise Invalid."""
    goal = text.lower().replace("-", "_")
    if goal not in (VERDICT, LANDED) and goal not in STATES:
        raise Invalid(
            f"{ascii(text)[:80]} is neither a state nor verdict or landed",
            f"git worker wait --for verdict <worker>   # or: landed, {', '.join(STATES)}",
            code="usage",
        )
    return goal


def is_reached(goal: str, facts: WorkerFacts) -> bool:
    """Return whether the goal is reached; `rest`: the worker is no longer at work."""
    if goal == VERDICT:
        return facts.has_verdict or facts.has_landed
    if goal == LANDED:
        return facts.has_landed
    if goal == REST:
        return facts.waits_for_author or facts.is_left or facts.state not in AT_WORK
    return facts.state is STATES[goal]


def wait_refusal(goal: str, first: WorkerFacts, now: WorkerFacts) -> GitWorkerError | None:
    """Return the error if the goal cannot be reached any more; `first` are the facts at first."""
    if now.task != first.task or now.task is None:
        return Refused(
            f"{now.worker} no longer has task {first.task}" if first.task else
            f"{now.worker} has no task",
            f"git worker show {now.worker}",
        )  # fmt: skip
    resume = f"git worker resume {now.worker}   # or look first: git worker show {now.worker}"
    if now.state in STOPPED:
        reason = f": {now.last_error}" if now.last_error else ""
        hint = resume if now.state is WorkerState.FAILED else f"git worker show {now.worker}"
        return Refused(f"{now.worker} is {now.state}{reason}", hint)
    if now.is_left and goal in OF_AGENT:
        came_back = "its work was sent back after its agent had ended"
        idle = "its agent ended without handing anything in"
        return Refused(
            f"{now.worker} is {now.state}: {came_back if now.waits_for_author else idle}",
            resume,
            code="agent_ended",
        )
    return None


def timeout_error(goal: str, facts: WorkerFacts, timeout_s: float) -> GitWorkerError:
    """Return the error of a wait that took too long."""
    aim = f"{facts.state}, not {goal},"
    if goal == REST:
        aim = f"still {facts.state}"
    elif goal == VERDICT:
        aim = f"{facts.state} without a verdict"
    return Refused(f"{facts.worker} is {aim} after {timeout_s:g} s", code="timeout")
