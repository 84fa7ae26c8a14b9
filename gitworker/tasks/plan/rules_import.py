"""The import of a plan: the tasks that are new, changed, unchanged, or changed too late. Pure."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError, Refused
from gitworker.model.task import TaskStatus
from gitworker.tasks.plan.rules_plan import at_line
from gitworker.tasks.queue.rules_fields import with_fields
from gitworker.tasks.queue.rules_needs import cycle_refusal, find_cycle

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gitworker.model.task_spec import Need, TaskSpec
    from gitworker.tasks.plan.rules_plan import PlannedTask

NOT_STARTED = frozenset({TaskStatus.DEFINED, TaskStatus.READY})


class Fate(Enum):
    """The effect of an import on one task."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    STARTED = "started"  # changed in the plan after it had started, so that nothing was changed


def wanted_spec(
    base: TaskSpec, task: PlannedTask, *, source: str | None, position: int
) -> TaskSpec:
    """Return the task with the values of the plan; raise Invalid, naming the line."""
    try:
        spec = with_fields(base, task.fields)
    except GitWorkerError as error:
        raise at_line(task.line, error.message) from None
    return spec._replace(id=task.id, plan_source=source, position=position)


def fate_of(known: TaskSpec, wanted: TaskSpec, status: TaskStatus, *, same_needs: bool) -> Fate:
    """Return the effect of an import on a known task; its place in the plan is no change."""
    placed = known._replace(plan_source=wanted.plan_source, position=wanted.position)
    if placed == wanted and same_needs:
        return Fate.UNCHANGED
    return Fate.UPDATED if is_unstarted(status) else Fate.STARTED


def is_unstarted(status: TaskStatus) -> bool:
    """Return whether a task has not started, so that its plan still decides about it."""
    return status in NOT_STARTED


def stranger_refusal(known: TaskSpec, wanted: TaskSpec, line: int) -> GitWorkerError | None:
    """Return the refusal of an id that another task has, or None if it is the same task.

    A plan may be renamed: a task with the same title or the same text is the same.
    """
    same_title = known.title and known.title == wanted.title
    same_text = known.text and known.text == wanted.text
    if known.plan_source == wanted.plan_source or same_title or same_text:
        return None
    owner = f"the plan {known.plan_source}" if known.plan_source else "no plan"
    return Refused(
        f"line {line}: task {known.id} exists already and is of {owner}: give it another id",
        f"git worker task show {known.id}",
        code="task_exists",
    )


def require_agents(tasks: Sequence[PlannedTask], agents: Collection[str]) -> None:
    """Raise Invalid, naming the line, if a task wants an agent that does not exist."""
    for task in tasks:
        if task.fields.agent and task.fields.agent not in agents:
            raise at_line(
                task.line,
                f"no agent is called {ascii(task.fields.agent)[:80]}: {', '.join(sorted(agents))}",
            )


def require_projects(tasks: Sequence[PlannedTask], projects: Collection[str]) -> None:
    """Raise Invalid, naming the line, if the project of a task takes no new tasks."""
    for task in tasks:
        if task.fields.project_id and task.fields.project_id not in projects:
            raise at_line(
                task.line,
                f"no open project is called {ascii(task.fields.project_id)[:80]}:"
                f" {', '.join(sorted(projects))}",
            )


def require_sound(
    tasks: Sequence[PlannedTask], known: Collection[str], needs: Mapping[str, Sequence[Need]]
) -> None:
    """Raise Invalid for an unknown need and Refused for a cycle, naming the line.

    `known` are the tasks that exist, `needs` their needs.
    """
    line_of: dict[str, int] = {task.id: task.line for task in tasks}
    for task in tasks:
        for need in task.needs:
            if need.task not in line_of and need.task not in known:
                raise at_line(task.line, f"{task.id} needs {need.task}, and there is no such task")
    graph = {task: [need.task for need in found] for task, found in needs.items()}
    graph |= {
        task.id: [need.task for need in task.needs]
        for task in tasks
        if task.names_needs or task.id not in graph
    }
    cycle = find_cycle(graph)
    if cycle is not None:
        refusal = cycle_refusal(cycle)
        line = next((line_of[task] for task in cycle if task in line_of), 1)
        raise Refused(f"line {line}: {refusal.message}", refusal.hint, code=refusal.code)
