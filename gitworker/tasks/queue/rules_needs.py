"""The dependencies of a task as a person writes them, and the ones that are refused. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError, Invalid, NotFound, Refused
from gitworker.model.ids import parse_task_id
from gitworker.model.task import TaskStatus
from gitworker.model.task_spec import DONE, LANDED, Need
from gitworker.states.dag import CyclicDependencyError, validate_dag
from gitworker.states.task_machine import has_ended, status_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

UNTIL = frozenset({LANDED, DONE})
NAMED_AT_MOST = 12  # tasks of a cycle in a message


def parse_needs(texts: Iterable[str]) -> tuple[Need, ...]:
    """Return the needs in texts such as `login, colours:done`, each task once.

    `X` waits until X has landed, `X:done` until it is handed in. Raises Invalid for another word,
    for two different needs of one task, and for two tasks to stack on.
    """
    found: dict[str, Need] = {}
    for text in texts:
        for word in text.split(","):
            if word.strip():
                need = _need(word.strip())
                if found.setdefault(need.task, need) != need:
                    raise Invalid(f"{need.task} is needed twice: until it has landed or is done")
    require_one_stack(found.values())
    return tuple(found.values())


def require_one_stack(needs: Iterable[Need]) -> None:
    """Raise Invalid for two tasks to stack on."""
    stacked = [need.task for need in needs if need.until == DONE]
    if len(stacked) > 1:
        raise Invalid(
            f"a task is stacked on one other task at most, here on {' and '.join(stacked)}",
            f"git worker task add -h   # leave out ':done' for all but one: {stacked[0]}:done",
        )


def need_text(need: Need) -> str:
    """Return a need as a person writes it."""
    return need.task if need.until == LANDED else f"{need.task}:{need.until}"


def need_refusal(task: str, need: Need, status: TaskStatus | None) -> GitWorkerError | None:
    """Return why a task cannot get a need, or None; a `status` of None is an unknown task."""
    if status is None:
        return NotFound(
            f"task {task} needs {need.task}, and there is no task {need.task}",
            "git worker task list",
            code="unknown_dependency",
        )
    if status is TaskStatus.CANCELLED:
        return Refused(
            f"task {task} needs {need.task}, which was cancelled, so it could never start",
            f"git worker task restart {need.task}",
            code="dead_dependency",
        )
    return None


def find_cycle(graph: Mapping[str, Iterable[str]], start: str | None = None) -> list[str] | None:
    """Return the tasks of a cycle in order, the first one again at the end, or None.

    The graph leads from each task to the tasks that it needs. The cycle begins with the task
    `start` if it is part of it.
    """
    try:
        validate_dag(graph)
    except CyclicDependencyError as error:
        last, first = error.cycle or ("", "")
        cycle = _path(graph, first, last)
        at = cycle.index(start) if start in cycle else 0
        return [*cycle[at:], *cycle[: at + 1]]
    return None


def cycle_refusal(cycle: list[str]) -> Refused:
    """Return the refusal of a cycle, which names its tasks."""
    shown = cycle
    if len(cycle) > NAMED_AT_MOST:
        more = len(cycle) - NAMED_AT_MOST
        shown = [*cycle[: NAMED_AT_MOST - 1], f"({more} more)", cycle[-1]]
    return Refused(
        f"tasks would wait for each other: {' needs '.join(shown)}",
        "git worker task list   # leave one of these dependencies out",
        code=CyclicDependencyError.code,
    )


def is_defined(status: TaskStatus) -> bool:
    """Return whether a task waits for its dependencies; any other status can have been promoted."""
    return status is TaskStatus.DEFINED


def needs_refusal(task: str, status: TaskStatus) -> Refused | None:
    """Return why the dependencies of a task can no longer change, or None."""
    if status in (TaskStatus.DEFINED, TaskStatus.READY):
        return None
    return Refused(
        f"task {task} {status_words(status)}, so it cannot get another dependency",
        f"git worker task show {task}",
        code="moved_on",
    )


def hold_refusal(task: str, status: TaskStatus) -> Refused | None:
    """Return why a task cannot be held back, or None."""
    if not has_ended(status):
        return None
    return Refused(
        f"task {task} {status_words(status)}, so there is nothing to hold",
        f"git worker task show {task}",
    )


def _need(word: str) -> Need:
    task, colon, until = word.partition(":")
    if colon and until.strip() not in UNTIL:
        raise Invalid(
            f"{ascii(word)[:80]} is not a dependency: write a task, or a task and ':done'",
            "git worker task add -h",
        )
    return Need(parse_task_id(task.strip()), until.strip() if colon else LANDED)


def _path(graph: Mapping[str, Iterable[str]], start: str, end: str) -> list[str]:
    """Return the shortest path between two tasks; there is one."""
    came_from = {start: start}
    queue = [start]
    for node in queue:
        for needed in graph.get(node, ()):
            if needed not in came_from:
                came_from[needed] = node
                queue.append(needed)
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
