"""The tokens that tasks, projects and registered agents have used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.task import TaskStatus
from gitworker.store.records.task_queue import count_by_project
from gitworker.store.scheduling.agents import charge_agent, find_agent_of_worker
from gitworker.store.scheduling.projects import DEFAULT, all_projects, charge_project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.store.api import Reader, Writer


class UsedBudget(NamedTuple):
    """A budget that is reached, in tokens: that of a task, or of a project with its tasks.

    `tasks` is the number of tasks in each status: of the project, or 1 for the task itself.
    """

    project: str
    task: str | None
    used: int
    budget: int
    tasks: Mapping[TaskStatus, int]


def used_budgets(reader: Reader) -> list[UsedBudget]:
    """Return the budgets that are reached: those of projects by id, then those of tasks by id."""
    over = [
        one
        for one in all_projects(reader)
        if one.budget_limit is not None and one.total_tokens_used >= one.budget_limit
    ]
    counts = count_by_project(reader) if over else {}
    found = [
        UsedBudget(
            one.id, None, one.total_tokens_used, one.budget_limit or 0, counts.get(one.id, {})
        )
        for one in over
    ]
    for row in reader.rows("tasks.over_budget"):
        tasks = {TaskStatus(row["status"]): 1}
        used, budget = row["tokens_used"], row["budget"]
        found.append(UsedBudget(row["project_id"], row["id"], used, budget, tasks))
    return found


class Usage(NamedTuple):
    """The tokens and the cost that an agent has reported so far; None: not reported."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        """Return the tokens of both directions."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)


def record_usage(writer: Writer, run: int, usage: Usage, *, worker: str, task: str) -> None:
    """Record what an open run has used so far, and count its new tokens."""
    row = writer.row("runs.used", run=run)
    if row is None:
        return
    writer.run("runs.use", run=run, **usage._asdict())
    if more := usage.tokens - int(row["tokens"]):
        charge_run(writer, worker=worker, task=task, tokens=more)


def charge_run(writer: Writer, *, worker: str, task: str, tokens: int) -> None:
    """Add tokens to those that a task, its project and its agent have used."""
    row = writer.row("projects.charge_task", task=task, tokens=tokens)
    charge_project(writer, row["project_id"] if row else DEFAULT, tokens)
    agent = find_agent_of_worker(writer, worker)
    if agent is not None:
        charge_agent(writer, agent.id, tokens)
