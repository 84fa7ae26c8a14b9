"""The limits of a start as stored: of the task, its project, the agent; and the open runs.

On the hot path of `exec`, while the agent waits behind its gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.store.records.runs import open_runs
from gitworker.store.tasks import PROJECT

if TYPE_CHECKING:
    from gitworker.store.api import Reader
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

    @property
    def has_tokens(self) -> bool:
        """Return whether the project may use tokens."""
        return self.budget is None or self.tokens < self.budget


class AgentRow(NamedTuple):
    """The state and the limit of a registered agent."""

    id: str
    state: str
    tasks: int


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
    number = int(row["max_concurrent_agents"])
    return ProjectRow(
        row["project"], row["status"], number, number if row["limits_agents"] else None,
        row["budget_limit"], row["total_tokens_used"], bool(row["held"]),
    )  # fmt: skip


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
