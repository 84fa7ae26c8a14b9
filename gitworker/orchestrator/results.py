"""Read the results of a run's tasks, and render them as text or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.model.tokens.prices import json_cost
from gitworker.observe.next_step.trouble import find_open_question
from gitworker.observe.text import NOTHING, listing
from gitworker.observe.usage_limit import find_limit
from gitworker.observe.workers.returned import returned_text, returned_work
from gitworker.orchestrator.rules_summary import (
    WORDS,
    Result,
    TaskFacts,
    TaskResult,
    action_text,
    count_others,
    exit_status,
    has_ended,
    is_open_dependency,
    may_start,
    next_command,
    result_of,
    totals,
)
from gitworker.store.records.landings import all_landings
from gitworker.store.records.screens import read_task_rows
from gitworker.store.records.task_queue import count_by_status
from gitworker.store.scheduling.projects import all_projects
from gitworker.store.tasks import StoredTask, find_task, open_dependencies
from gitworker.tasks.projects.rules_project import closed_by
from gitworker.tasks.rules_task_list import LISTED

if TYPE_CHECKING:
    from collections.abc import Collection

    from gitworker.model.tokens.prices import Cost
    from gitworker.orchestrator.facts import Picture, Slot
    from gitworker.orchestrator.rules_next import Plan
    from gitworker.session import Session
    from gitworker.store.api import Reader

HEAD = ("TASK", "RESULT", "WORKER", "DETAIL")
LISTED_MAX = 1000  # tasks, unless a run has touched more
OPEN = tuple(status for status in LISTED if not has_ended(status))


class RunSummary(NamedTuple):
    """The results of a run by task, its exit status, and the command that comes next.

    `others` counts the further tasks that have not ended. `spent` is the use of its budget in
    words, if that is used up. `tokens` and `cost` are those of its agents.
    """

    results: tuple[TaskResult, ...]
    status: int
    next_command: str | None
    others: Mapping[Result, int] = MappingProxyType({})
    spent: str = ""
    tokens: int = 0
    cost: Cost | None = None

    @property
    def spending(self) -> list[str]:
        """Return the tokens and the cost, and whether the budget is used up, in words."""
        cost = f", {self.cost.text}" if self.cost else ""
        used = [f"used {self.tokens:,} tokens{cost}"] if self.tokens else []
        spent = [f"{self.spent}; the same command continues the work"] if self.spent else []
        return [*used, *spent]


def with_open(reader: Reader, scope: Collection[str]) -> set[str]:
    """Return a set of tasks, filled up with the first of those that have not ended."""
    left = max(0, LISTED_MAX - len(scope))
    return {*scope, *(row.id for row in read_task_rows(reader, OPEN, limit=left))}


def read_results(
    session: Session, picture: Picture, obstacles: Mapping[str, str]
) -> list[TaskResult]:
    """Return the present results of the tasks that the run's workers have, or had last."""
    with session.store.read() as reader:
        return [
            _result(reader, slot.task, slot, obstacles)
            for slot in _holders(picture).values()
            if slot.task is not None
        ]


def read_summary(
    session: Session,
    picture: Picture,
    *,
    scope: Collection[str],
    obstacles: Mapping[str, str],
    lands: bool,
    is_interrupted: bool,
    commands: Mapping[str, str],
    spent: str = "",
) -> RunSummary:
    """Return the results of the tasks in `scope`, and of the first of those that are open now.

    `commands` help tasks that no agent takes.
    """
    holders = _holders(picture)
    with session.store.read() as reader:
        names = with_open(reader, scope)
        tasks = [task for name in sorted(names) if (task := find_task(reader, name)) is not None]
        landed_by: dict[str, str] = {one.task_id: one.worker_id for one in all_landings(reader)}
        closed = {one.id: why for one in all_projects(reader) if (why := closed_by(one))}
        results = tuple(
            _result(
                reader, one, holders.get(one.id), obstacles, landed_by=landed_by.get(one.id),
                closed=closed[one.project_id].reason if one.project_id in closed
                else picture.queue.elsewhere.get(one.id, ""),
            )
            for one in tasks
        )  # fmt: skip
        helps = {
            one.id: why.command for one in tasks
            if may_start(one.status) and (why := closed.get(one.project_id)) and why.command
        }  # fmt: skip
        others = count_others(count_by_status(reader), [one.status for one in tasks])
    return RunSummary(
        results,
        exit_status(
            (*(one.result for one in results), *others),
            is_interrupted=is_interrupted,
            is_spent=bool(spent),
        ),
        next_command(results, lands=lands, commands={**helps, **commands}),
        others,
        spent,
    )


def render_summary(found: RunSummary, *, width: int | None, color: bool) -> str:
    """Return a table with a line of totals; without a width, bare rows separated by tabs."""
    rows = [
        (one.task, one.result.value, one.worker or NOTHING, one.detail) for one in found.results
    ]
    last = [totals(found.results, found.others)]
    return listing(HEAD, rows, width=width, color=color, empty="there are no tasks", last=last)


def json_summary(found: RunSummary) -> dict[str, Any]:
    """Return the results as JSON data."""
    return {
        "tasks": [
            {
                "task": one.task, "title": one.title, "result": one.result.value,
                "worker": one.worker, "detail": one.detail or None,
            }
            for one in found.results
        ],
        "others": {result.value: number for result, number in found.others.items()},
        "exit_status": found.status, "next": found.next_command,
        "budget": found.spent or None, "tokens_used": found.tokens, **json_cost(found.cost),
    }  # fmt: skip


def render_plan(found: Plan, *, width: int | None, color: bool) -> str:
    """Return the agents that a run would start first, and the work that it would land."""
    lines = [action_text(action) for action in found.actions if action.step in WORDS]
    lines += [f"{worker} would land" for worker in found.land]
    return "\n".join(lines) or "nothing can start now"


def json_plan(found: Plan) -> dict[str, Any]:
    """Return the first actions of a run as JSON data."""
    starts = [
        {"worker": one.worker, "task": one.task, "step": one.step.value, "is_new": one.is_new}
        for one in found.actions
    ]
    return {"actions": starts, "land": list(found.land), "running": found.running}


def _holders(picture: Picture) -> dict[str, Slot]:
    """Return the slot of each task: its holder, or else the worker that changed last."""

    def order(slot: Slot) -> tuple[bool, int]:
        is_holder = slot.task is not None and slot.task.assigned_agent_id == slot.worker.worker_id
        return is_holder, slot.worker.state_changed_at_ms

    return {slot.worker.task: slot for slot in sorted(picture.slots.values(), key=order)}


def _result(
    reader: Reader, task: StoredTask, slot: Slot | None, obstacles: Mapping[str, str], *,
    landed_by: str | None = None, closed: str = "",
) -> TaskResult:  # fmt: skip
    """Return the result of a task; `landed_by` is its worker if that has another task by now.

    `closed` is the reason for which its project, or this machine, starts no task.
    """
    retry_at = task.resume_after_ms
    facts = TaskFacts(
        task.id, task.status,
        worker=slot.worker.worker_id if slot else task.assigned_agent_id or landed_by,
        title=task.title,
        error=task.last_error or (slot.worker.last_error if slot else None) or "",
        waits_for=tuple(open_dependencies(reader, task.id))
        if is_open_dependency(task.status) else (),
        is_held=task.held,
        obstacle=obstacles.get(task.id, ""),
        closed=closed,
        retry_at="" if retry_at is None else clock.local_minutes(retry_at, clock.now_ms()),
    )  # fmt: skip
    if slot is not None and slot.task is not None and slot.task.id == task.id:
        back = returned_work(slot.worker)
        limit = find_limit(reader, slot.worker, slot.facts.task_status)
        question = find_open_question(reader, slot.worker.worker_id, task.id, task.status)
        facts = facts._replace(
            returned=returned_text(back) if back and slot.worker.waits_for_author else "",
            limit=limit.words if limit else "",
            is_spent=not slot.facts.has_tokens,
            question=question.words if question else "",
        )
    return result_of(facts)
