"""The result of each task of a run, in words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from gitworker.model.task import TaskStatus
from gitworker.orchestrator.rules_next import Action, Step

INTERRUPTED = 130
ASKS = "asks: "


class Result(StrEnum):
    """The result of a task, in the order of the summary."""

    LANDED = "landed"
    REVIEW = "in review"
    RUNNING = "running"
    READY = "ready"
    WAITING = "waiting"
    BLOCKED = "blocked"
    RETURNED = "sent back"
    SPENT = "out of budget"
    FAILED = "failed"
    CANCELLED = "cancelled"


OF_STATUS: Mapping[TaskStatus, Result] = MappingProxyType(
    {
        TaskStatus.DEFINED: Result.BLOCKED,
        TaskStatus.READY: Result.READY,
        TaskStatus.ASSIGNED: Result.RUNNING,
        TaskStatus.IN_PROGRESS: Result.RUNNING,
        TaskStatus.WAITING_INPUT: Result.WAITING,
        TaskStatus.PAUSED: Result.WAITING,
        TaskStatus.VERIFYING: Result.REVIEW,
        TaskStatus.AWAITING_APPROVAL: Result.REVIEW,
        TaskStatus.COMPLETED: Result.LANDED,
        TaskStatus.FAILED: Result.FAILED,
        TaskStatus.BLOCKED: Result.FAILED,
        TaskStatus.CANCELLED: Result.CANCELLED,
    }
)
FAILURES = frozenset({Result.FAILED, Result.RETURNED, Result.SPENT})
UNFINISHED = frozenset({Result.RUNNING, Result.READY, Result.WAITING, Result.BLOCKED})
ENDED = frozenset({TaskStatus.COMPLETED, TaskStatus.CANCELLED, TaskStatus.BLOCKED})


class TaskFacts(NamedTuple):
    """One task at the end of a tick.

    `obstacle` is the reason why it did not start or land in this run, `returned` the reason for
    which its work came back and waits for a person, `limit` that of its pause, `question` the one
    that waits for an answer, `closed` the reason for which its project, or this machine, starts no
    task. `is_spent`: the tokens of the task are used up.
    """

    task: str
    status: TaskStatus
    worker: str | None = None
    title: str = ""
    error: str = ""
    waits_for: tuple[str, ...] = ()
    obstacle: str = ""
    returned: str = ""
    limit: str = ""
    retry_at: str = ""
    is_held: bool = False
    question: str = ""
    is_spent: bool = False
    closed: str = ""


class TaskResult(NamedTuple):
    """The result of one task, its worker, and the details in words."""

    task: str
    title: str
    result: Result
    worker: str | None
    detail: str

    @property
    def line(self) -> str:
        """Return the result as a sentence for the progress of a run."""
        words = VERBS.get(self.result, f"is {self.result}")
        worker = f" ({self.worker})" if self.worker else ""
        detail = f": {self.detail}" if self.detail else ""
        answer = f": {reply_command(self.task)}" if self.detail.startswith(ASKS) else ""
        return f"{self.task} {words}{worker}{detail}{answer}"


WORDS: Mapping[Step, str] = MappingProxyType(
    {
        Step.ROUND: "{worker} starts on {task} again",
        Step.CONTINUE: "{worker} continues {task}",
        Step.START: "{worker} starts on {task}",
    }
)
VERBS: Mapping[Result, str] = MappingProxyType(
    {
        Result.LANDED: "has landed",
        Result.RETURNED: "came back",
        Result.FAILED: "has failed",
        Result.WAITING: "waits",
        Result.SPENT: "was stopped",
    }
)


def result_of(facts: TaskFacts) -> TaskResult:
    """Return the result of a task."""
    result, detail = OF_STATUS[facts.status], ""
    if facts.status is TaskStatus.DEFINED:
        detail = f"waits for {', '.join(facts.waits_for)}" if facts.waits_for else ""
    elif facts.obstacle and result in (Result.READY, Result.REVIEW):
        result, detail = Result.FAILED, facts.obstacle
    elif facts.returned and result is Result.RUNNING:
        result, detail = Result.RETURNED, facts.returned
    elif result is Result.FAILED:
        again = f"; tried again at {facts.retry_at}" if facts.retry_at else ""
        detail = f"{facts.error or 'no attempts are left'}{again}"
    elif result is Result.READY and facts.is_held:
        result, detail = Result.WAITING, "it is held back"
    elif result is Result.READY:
        detail = facts.closed
    elif facts.status is TaskStatus.PAUSED and facts.is_spent:
        result, detail = Result.SPENT, facts.limit
    elif facts.status is TaskStatus.PAUSED:
        detail = facts.question or facts.obstacle or facts.limit
    elif result is Result.WAITING:
        detail = facts.question or "its agent has not read the answer yet"
    return TaskResult(facts.task, facts.title, result, facts.worker, detail)


def action_text(action: Action, *, sets_up: bool = False) -> str:
    """Return an action that starts an agent, or first the setup of its worktree, as a sentence."""
    if sets_up:
        return f"setting up the worktree of {action.worker} for {action.task}"
    return WORDS[action.step].format(worker=action.worker, task=action.task)


def reply_command(task: str) -> str:
    """Return the command that answers the question of a task's agent."""
    return f"git worker reply {task} <text>"


def is_news(result: TaskResult) -> bool:
    """Return whether a change is reported: a start has its own sentence."""
    return result.result not in (Result.RUNNING, Result.READY)


def has_ended(status: TaskStatus) -> bool:
    """Return whether no run changes a task any more."""
    return status in ENDED


def is_open_dependency(status: TaskStatus) -> bool:
    """Return whether a task still waits for its dependencies."""
    return status is TaskStatus.DEFINED


def may_start(status: TaskStatus) -> bool:
    """Return whether a task is in the queue and waits only for its turn."""
    return status is TaskStatus.READY


def count_others(
    statuses: Mapping[TaskStatus, int], listed: Iterable[TaskStatus]
) -> dict[Result, int]:
    """Return the number of open tasks of each result that are not among the listed ones."""
    left = Counter(statuses)
    left.subtract(Counter(listed))
    found: Counter[Result] = Counter()
    for status, number in left.items():
        if number > 0 and not has_ended(status):
            found[OF_STATUS[status]] += number
    return dict(found)


def exit_status(results: Iterable[Result], *, is_interrupted: bool, is_spent: bool = False) -> int:
    """Return the exit status of a run: 0 only if no task failed or waits for its author.

    With `is_spent`, the budget of the run is used up: then nothing may be left to do.
    """
    if is_interrupted:
        return INTERRUPTED
    failures = FAILURES | UNFINISHED if is_spent else FAILURES
    return int(any(one in failures for one in results))


def totals(results: Collection[TaskResult], others: Mapping[Result, int]) -> str:
    """Return the number of tasks of each result: `4 landed, 1 failed`."""
    numbers = Counter(one.result for one in results) + Counter(others)
    parts = [f"{numbers[result]} {result}" for result in Result if numbers[result]]
    return ", ".join(parts) or "no tasks"


def next_command(
    results: Collection[TaskResult],
    *,
    lands: bool,
    commands: Mapping[str, str] = MappingProxyType({}),
) -> str | None:
    """Return the command that takes the results further, or None.

    `commands` help tasks that no agent takes.
    """
    found = {one.result: one for one in reversed(list(results))}
    asking = next((one for one in results if one.detail.startswith(ASKS)), None)
    if asking is not None:
        return reply_command(asking.task)
    if Result.REVIEW in found:
        worker = found[Result.REVIEW].worker if lands else None
        return f"git worker land {worker or '--all'}"
    if (helped := next((one for one in results if one.task in commands), None)) is not None:
        return commands[helped.task]
    if Result.SPENT in found:
        return f"git worker task edit {found[Result.SPENT].task} --budget <number>"
    for failure in FAILURES & set(found):
        worker = found[failure].worker
        return f"git worker show {worker}" if worker else "git worker task list"
    return None
