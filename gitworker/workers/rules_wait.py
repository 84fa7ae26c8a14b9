"""When a wait for a worker is over. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from gitworker.errors import GitWorkerError, Invalid, Refused
from gitworker.model.ids import TaskId
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.states.worker_machine import state_words

VERDICT, LANDED, REST = "verdict", "landed", "rest"
STATES: Mapping[str, WorkerState] = MappingProxyType(
    {state.value.lower(): state for state in WorkerState}
)
AT_WORK = frozenset({WorkerState.ASSIGNED, WorkerState.WORKING})
# From these a worker reaches no other state until a command gives it work again.
STOPPED = frozenset({WorkerState.FAILED, WorkerState.IDLE})
# Goals that only the worker's agent brings about, by handing work in.
OF_AGENT = frozenset({VERDICT, LANDED, "in_review", "approved", "completed"})
ENDED = frozenset({TaskStatus.COMPLETED, TaskStatus.CANCELLED})


class Need(NamedTuple):
    """The thing for which an agent waits, as words after its name, and the command that helps.

    `aim` is the effect of the command; "" if the command is of no use before the agent's end.
    """

    words: str
    aim: str
    command: str


class Question(NamedTuple):
    """A worker's question that is not answered yet."""

    text: str
    answer: str


class WorkerFacts(NamedTuple):
    """A worker at one moment; `has_verdict` and `has_landed` concern its task.

    `agent_ended`: its supervised agent has ended, and no supervisor waits to resume it.
    `is_unchanged`: the state is the one that the agent has left. `is_taken`: another worker has its
    task now, or the task has ended. `waiting`: its work waits for its author: the words with the
    reason, and the command that continues it.
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
    is_taken: bool = False
    need: Need | None = None
    waiting: tuple[str, str] | None = None

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


def is_at_work(state: WorkerState, *, stale_from: WorkerState | None) -> bool:
    """Return whether a worker is at work, or became stale there."""
    return WorkerState.WORKING in (state, stale_from if state is WorkerState.STALE else None)


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
    if now.state in STOPPED:
        reason = f": {now.last_error}" if now.last_error else ""
        return Refused(f"worker {now.worker} {state_words(now.state)}{reason}", _next_command(now))
    if now.is_left and goal in OF_AGENT:
        words = "its agent ended without handing anything in"
        if now.waits_for_author:
            words = "its work was sent back after its agent had ended"
        elif now.need is not None:
            words = f"its agent ended and {now.need.words}"
        return Refused(
            f"worker {now.worker} does not continue: {words}",
            _next_command(now),
            code="agent_ended",
        )
    return None


def need_of(
    worker: str,
    status: TaskStatus | None,
    *,
    is_paused: bool,
    question: Question | None,
    limit: str | None,
) -> Need | None:
    """Return the thing for which the agent of a worker at work waits, or None.

    `limit` is a limit of its model's vendor, in words; `is_paused`: its process is stopped.
    """
    if is_paused:
        return Need("is paused", "continue it", f"git worker continue {worker}")
    if question is not None:
        return Need(f"waits for an answer: {question.text}", "answer", question.answer)
    if status is TaskStatus.WAITING_INPUT:
        return Need("waits for an answer", "answer", f"git worker reply {worker} <text>")
    if limit is not None or status is TaskStatus.PAUSED:
        words = f"waits for the end of a limit: {limit}" if limit else "its task is paused"
        return Need(words, "", f"git worker resume {worker}")
    return None


def notice_of(facts: WorkerFacts) -> str:
    """Return the report about an agent that waits for a person, "" if it does not."""
    need = facts.need
    if need is None or not need.aim:
        return ""
    return f"the agent of {facts.worker} {need.words}; to {need.aim}: {need.command}"


def _next_command(facts: WorkerFacts) -> str:
    """Return the command that helps a worker whose agent has ended, or that has failed."""
    show, resume = f"git worker show {facts.worker}", f"git worker resume {facts.worker}"
    if facts.state is WorkerState.IDLE:
        return show
    if facts.state is WorkerState.FAILED and facts.is_taken:
        return f"git worker reset {facts.worker}   # or look first: {show}"
    if facts.waiting is not None:
        return f"{facts.waiting[1].partition('   # ')[0]}   # or look first: {show}"
    if facts.need is not None and facts.need.aim and not facts.waits_for_author:
        return f"{facts.need.command}   # then: {resume}"
    return f"{resume}   # or look first: {show}"


def timeout_error(goal: str, facts: WorkerFacts, timeout_s: float) -> GitWorkerError:
    """Return the error of a wait that took too long."""
    aims = {REST: "", VERDICT: " for a verdict", LANDED: " for the landing"}
    aim = aims.get(goal, f" for the state {goal.replace('_', ' ')}")
    state = state_words(facts.state, facts.stale_from)
    state, hint = facts.waiting or (state, f"git worker show {facts.worker}")
    hint = facts.need.command if facts.need else hint
    return Refused(
        f"waited {timeout_s:g} s{aim}: worker {facts.worker} {state}", hint, code="timeout"
    )
