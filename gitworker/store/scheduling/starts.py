"""The limits of a start as stored: of the task, its project, the agent; and the open runs.

On the hot path of `exec`, while the agent waits behind its gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.tokens.budget import Spent, spent_task
from gitworker.store.records.runs import open_runs
from gitworker.store.tasks import PROJECT

if TYPE_CHECKING:
    from gitworker.store.api import Reader, Row, Writer
    from gitworker.store.records.runs import Run


class ProjectRow(NamedTuple):
    """The limits of a project; `agents` is None until a person has set the number.

    `agents_at_once` is that number, or the one of a project for which none was set.
    """

    id: str = PROJECT
    status: str = "ACTIVE"
    agents_at_once: int = 2
    agents: int | None = None
    budget: int | None = None
    tokens: int = 0
    is_task_held: bool = False
    task_budget: int | None = None
    task_tokens: int = 0

    @property
    def has_tokens(self) -> bool:
        """Return whether the project may use tokens."""
        return self.budget is None or self.tokens < self.budget


class ProjectTurn(NamedTuple):
    """A project that may start agents: its limits, its weight, its credit of agent time."""

    limits: ProjectRow
    weight: float
    credit_ms: int
    accounted_at_ms: int


class AgentRow(NamedTuple):
    """The state, the limit and the present task of a registered agent."""

    id: str
    state: str
    tasks: int
    task: str | None


class OpenRun(NamedTuple):
    """A run that has not ended, with its project and the kind of its agent."""

    run: Run
    project: str
    agent_type: str


def find_project_of(reader: Reader, task: str | None) -> ProjectRow:
    """Return the limits of a task's project; of this repository's for an unknown task."""
    row = reader.row("starts.of_task", task=task, project=PROJECT)
    if row is None:
        return ProjectRow()
    return _project(row)._replace(
        is_task_held=bool(row["held"]), task_budget=row["budget_tokens"],
        task_tokens=row["tokens_used"] or 0,
    )  # fmt: skip


def find_spent(reader: Reader, task: str) -> Spent | None:
    """Return that a task has used the tokens of its budget, or None."""
    row = find_project_of(reader, task)
    return spent_task(task, row.task_tokens, row.task_budget)


def tokens_left(reader: Reader, task: str) -> int | None:
    """Return the tokens that a task may still use; None without a budget."""
    row = find_project_of(reader, task)
    return None if row.task_budget is None else max(0, row.task_budget - row.task_tokens)


def projects_in_turn(reader: Reader) -> list[ProjectTurn]:
    """Return the projects that are not archived, by id."""
    return [
        ProjectTurn(
            _project(row), float(row["credit_weight"]), row["credit_ms"], row["accounted_at_ms"]
        )
        for row in reader.rows("starts.projects")
    ]


def record_credit(writer: Writer, project: str, credit_ms: float, *, now: int) -> None:
    """Record the credit of a project, with the time up to which it is accounted."""
    writer.run("starts.account", project=project, credit_ms=round(credit_ms), now=now)


def declared_paths(reader: Reader, task: str) -> str:
    """Return the paths that a task declares, a JSON array."""
    row = reader.row("starts.paths", task=task)
    return "[]" if row is None else str(row["paths"])


def running_tasks(reader: Reader) -> list[tuple[str, str]]:
    """Return the tasks at work, by id, each with the paths that it declares, a JSON array."""
    return [(row["id"], row["paths"]) for row in reader.rows("starts.running")]


def find_agent_row(reader: Reader, agent: str) -> AgentRow | None:
    """Return the registered agent with this id, or None."""
    row = reader.row("starts.of_agent", agent=agent)
    return None if row is None else AgentRow(*row.values())


def open_starts(reader: Reader) -> list[OpenRun]:
    """Return the runs that have not ended, oldest first."""
    facts = {row["id"]: row for row in reader.rows("starts.open", project=PROJECT)}
    return [
        OpenRun(run, facts[run.id]["project"], facts[run.id]["agent_type"])
        for run in open_runs(reader)
    ]


def _project(row: Row) -> ProjectRow:
    number = int(row["max_concurrent_agents"])
    return ProjectRow(
        row["id"], row["status"], number, number if row["limits_agents"] else None,
        row["budget_limit"], row["total_tokens_used"],
    )  # fmt: skip
