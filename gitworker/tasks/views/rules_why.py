"""The reason why a task is not running, and the command that helps. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.task import TaskStatus
from gitworker.model.task_spec import DONE
from gitworker.rules_text import REMARK, count_text
from gitworker.states.task_machine import has_ended, status_words
from gitworker.tasks.rules_task_list import Why, is_stuck

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gitworker.model.task_spec import OpenNeed

S = TaskStatus
STOPPED = frozenset({S.FAILED, S.BLOCKED, S.CANCELLED})
QUEUED = frozenset({S.DEFINED, S.READY})
WALK_MAX = 10_000  # tasks; 50 µs each
PHRASES = {
    S.ASSIGNED: "its worker has not started",
    S.IN_PROGRESS: "it is running",
    S.WAITING_INPUT: "its agent waits for an answer",
    S.PAUSED: "it is paused until a limit ends",
    S.VERIFYING: "its work is handed in and waits for review",
    S.AWAITING_APPROVAL: "its work is handed in and waits for approval",
    S.COMPLETED: "it has landed",
    S.CANCELLED: "it was cancelled",
}


class TaskFacts(NamedTuple):
    """The facts of a task: `next_command` is its worker's, or None; `before` are earlier tasks.

    `closed` is why its project starts no task. `meets` is a running task that may change the same
    paths, `refusal` the limit that forbids its start, or the lack of an agent, `limit` the one for
    which it is paused. `lands_in` are the branch of its workstream and the workstream, if the task
    lands on that branch, which has not landed itself yet. `halt` is why its worker does not go on
    by itself: its work came back, or its agent has ended. `is_skipped` is whether a person has
    completed it without its work. `run_command` starts a run that tries a failed task again: its
    worker is of a run, and none is alive. `is_retried`: a living run tries it again.
    """

    task: str
    status: TaskStatus
    held: bool = False
    worker: str | None = None
    error: str = ""
    retry_in: str = ""
    next_command: str | None = None
    before: int = 0
    closed: Why | None = None
    meets: str | None = None
    refusal: Why | None = None
    limit: Why | None = None
    lands_in: tuple[str, str] | None = None
    halt: str = ""
    is_skipped: bool = False
    run_command: str | None = None
    is_retried: bool = False


def why(facts: TaskFacts, chain: Sequence[OpenNeed], cause: TaskFacts | None) -> Why:
    """Return why a task is not running.

    `chain` leads from the first task that it waits for to the one that decides, which is `cause`;
    empty if it waits for none. A `cause` of None is a task that does not exist.
    """
    if facts.status in QUEUED and chain:
        return _waiting(facts, chain, cause)
    if facts.held and facts.status in QUEUED:
        return Why("it is held back", f"git worker task release {facts.task}")
    if facts.limit is not None:
        return Why(f"it is paused: {facts.limit.reason}", facts.limit.command)
    if facts.is_skipped:
        return Why("it was skipped: it is completed without its work", None)
    if facts.lands_in is not None and facts.status is S.COMPLETED:
        branch, workstream = facts.lands_in
        words = f"it has landed on {branch}, which lands as a whole"
        return Why(words, f"git worker workstream show {workstream}")
    if facts.status in PHRASES:
        return Why(_of_worker(facts), _command(facts))
    if facts.status in STOPPED:
        return Why(_stopped(facts), _command(facts))
    if facts.closed is not None:
        return facts.closed
    if facts.refusal is not None:
        return facts.refusal
    if facts.meets is not None:
        words = f"it waits for {facts.meets}, which is running and may change the same paths"
        return Why(words, f"git worker task show {facts.meets}")
    comes = "comes" if facts.before == 1 else "come"
    count = count_text(facts.before, "task")
    queue = f"{count} {comes} before it" if facts.before else "it is next"
    return Why(f"it may start: {queue}", _start(facts))


def is_queued(status: TaskStatus) -> bool:
    """Return whether a task has not started."""
    return status in QUEUED


def is_tried_again(status: TaskStatus, resume_after_ms: int | None) -> bool:
    """Return whether a run tries a task again: it is ready, or will be so after its back-off."""
    return status is S.READY or (status is S.FAILED and resume_after_ms is not None)


def run_command_of(agent: str | None) -> str:
    """Return the command of a run of an agent; without an agent, of a run of any command."""
    return f"git worker run --agent {agent}" if agent else "git worker run -- <command>"


def walk_needs(
    needs: Callable[[str], Sequence[OpenNeed]], task: str, is_held: Callable[[str], bool]
) -> list[OpenNeed]:
    """Return the chain from a task to the open need that decides when it can start.

    That is the nearest one that has stopped, is held or does not exist, else the nearest one that
    waits for no other. `needs` returns the open needs of a task.
    """
    came_from: dict[str, tuple[str, OpenNeed]] = {}
    queue, calm = [task], ""
    for node in queue:
        found = list(needs(node))
        for need in found:
            if need.task in came_from or need.task == task:
                continue
            came_from[need.task] = (node, need)
            if is_stuck(need.status) or is_held(need.task):
                return _chain(came_from, task, need.task)
            if need.status in QUEUED and len(queue) < WALK_MAX:
                queue.append(need.task)
            elif not calm:
                calm = need.task
        if not found and not calm:
            calm = node
    return _chain(came_from, task, calm)


def _chain(came_from: dict[str, tuple[str, OpenNeed]], task: str, end: str) -> list[OpenNeed]:
    chain: list[OpenNeed] = []
    while end != task and end in came_from:
        end, need = came_from[end]
        chain.append(need)
    return chain[::-1]


def _waiting(facts: TaskFacts, chain: Sequence[OpenNeed], cause: TaskFacts | None) -> Why:
    first, last = chain[0], chain[-1]
    until = "be handed in" if first.until == DONE else "land"
    words = f"it waits for {first.task} to {until}"
    if len(chain) > 1:
        between = len(chain) - 2
        more = f" and {between} more" if between else ""
        words = f"it waits for {first.task}{more}, which waits for {last.task}"
    if cause is None:
        waiting = chain[-2].task if len(chain) > 1 else facts.task
        command = f"git worker task depend {waiting} --on {last.task} --drop"
        return Why(f"{words}, which {_is(None)}", command)
    if cause.held and cause.status in QUEUED:
        return Why(f"{words}, which is held back", f"git worker task release {last.task}")
    if cause.status is S.READY:
        return Why(f"{words}, which {_is(S.READY)}", _start(cause))
    ending = _stopped(cause) if cause.status in STOPPED else f"it {_is(cause.status)}"
    return Why(f"{words}, which {ending.removeprefix('it ')}", _command(cause))


def _is(status: TaskStatus | None) -> str:
    return "does not exist" if status is None else status_words(status)


def _of_worker(facts: TaskFacts) -> str:
    words = PHRASES[facts.status]
    if facts.halt and facts.status is S.IN_PROGRESS:
        words = facts.halt
    if facts.worker is None or has_ended(facts.status):
        return words
    return f"{words} (worker {facts.worker})"


def _stopped(facts: TaskFacts) -> str:
    reason = f": {facts.error}" if facts.error else ""
    if facts.status is S.CANCELLED:
        return "it was cancelled"
    retry = f"; it is ready again {facts.retry_in}" if facts.retry_in else ""
    if facts.retry_in and facts.is_retried:
        retry = f"; the run tries it again {facts.retry_in}"
    elif facts.retry_in and facts.run_command:
        retry += ", for the next run"
    return f"it {_is(facts.status)}{reason}{retry}"


def _start(facts: TaskFacts) -> str:
    """Return the command that starts a task: in the worker that failed at it, or in a new one."""
    return (facts.next_command and _command(facts)) or f"git worker spawn '<worker>' {facts.task}"


def _command(facts: TaskFacts) -> str | None:
    if facts.status is S.COMPLETED:
        return None
    command = facts.next_command or f"git worker task restart {facts.task}"
    if facts.is_retried:
        return f"git worker show {facts.worker}"
    if facts.run_command is None:
        return command
    return f"{facts.run_command}{REMARK}or: {command.partition(REMARK)[0]}"
