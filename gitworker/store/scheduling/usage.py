"""The tokens that tasks, projects and registered agents have used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.store.scheduling.agents import charge_agent, find_agent_of_worker
from gitworker.store.scheduling.projects import DEFAULT, charge_project

if TYPE_CHECKING:
    from gitworker.store.api import Writer


def charge_run(writer: Writer, *, worker: str, task: str, tokens: int) -> None:
    """Add the tokens of an ended run to those of its task, its project and its agent."""
    row = writer.row("projects.charge_task", task=task, tokens=tokens)
    charge_project(writer, row["project_id"] if row else DEFAULT, tokens)
    agent = find_agent_of_worker(writer, worker)
    if agent is not None:
        charge_agent(writer, agent.id, tokens)
