"""The part of `status` about the queue: agents, budgets, and the first tasks that may start.

Its cost does not depend on the number of tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitworker.observe.queue.agent_use import ShownAgent, shown_agents
from gitworker.observe.text import BLUE, CYAN, DIM, RED, YELLOW, age_text, one_line, table
from gitworker.store.records.task_queue import QueuedTask, ready_tasks
from gitworker.store.scheduling.projects import all_projects

if TYPE_CHECKING:
    from gitworker.model.project import Project
    from gitworker.store.api import Reader

QUEUE_SHOWN = 5
AGENTS = ("AGENT", "TYPE", "STATE", "TASKS", "USE", "TOKENS")
BUDGETS = ("PROJECT", "STATUS", "TOKENS", "BUDGET", "USED")
QUEUE = ("NEXT", "PRIORITY", "AGE", "TITLE")
COLORS = {"BUSY": CYAN, "STARTING": BLUE, "IDLE": DIM, "PAUSED": YELLOW, "UNRESPONSIVE": RED,
          "ERROR": RED}  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueueOverview:
    """The registered agents, the projects with a budget, and the first tasks that may start."""

    agents: tuple[ShownAgent, ...] = ()
    projects: tuple[Project, ...] = ()
    ready: tuple[QueuedTask, ...] = ()
    has_more: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the overview as JSON data."""
        return {
            "agents": [
                {
                    "agent": one.agent.name, "type": one.agent.agent_type,
                    "state": one.agent.state, "at_work": one.at_work,
                    "max_concurrent_tasks": one.agent.tasks,
                    "utilization": round(one.utilization, 3),
                    "total_tokens": one.agent.total_tokens,
                }
                for one in self.agents
            ],
            "budgets": [
                {
                    "project": one.id, "status": one.status.value,
                    "tokens_used": one.total_tokens_used, "budget_limit": one.budget_limit,
                }
                for one in self.projects
            ],
            "queue": {
                "ready": [
                    {
                        "task": one.id, "title": one.title, "priority": one.priority,
                        "project": one.project_id,
                    }
                    for one in self.ready
                ],
                "more": self.has_more,
            },
        }  # fmt: skip


def read_overview(reader: Reader) -> QueueOverview:
    """Read the overview in the caller's snapshot."""
    ready = ready_tasks(reader, QUEUE_SHOWN + 1)
    return QueueOverview(
        tuple(shown_agents(reader)),
        tuple(one for one in all_projects(reader) if one.budget_limit is not None),
        tuple(ready[:QUEUE_SHOWN]),
        len(ready) > QUEUE_SHOWN,
    )


def render_overview(
    found: QueueOverview, now_ms: int, *, width: int | None, color: bool
) -> list[str]:
    """Return a table for each part that has content, each after an empty line."""
    agents = [
        (one.agent.name, one.agent.agent_type, one.agent.state, f"{one.at_work}/{one.agent.tasks}",
         f"{one.utilization:.0%}", f"{one.agent.total_tokens:,}")
        for one in found.agents
    ]  # fmt: skip
    budgets = [
        (one.id, one.status.value, f"{one.total_tokens_used:,}", f"{one.budget_limit:,}",
         _share(one.total_tokens_used, one.budget_limit or 0))
        for one in found.projects
    ]  # fmt: skip
    queue = [
        (one.id, str(one.priority), age_text(max(0, now_ms - one.created_at_ms)),
         one_line(one.title))
        for one in found.ready
    ]  # fmt: skip
    lines: list[str] = []
    for head, rows in ((AGENTS, agents), (BUDGETS, budgets), (QUEUE, queue)):
        if rows:
            colors = {head.index("STATE"): COLORS} if "STATE" in head else None
            lines += ["", *table(head, rows, width=width, colors=colors, color=color)]
    if found.has_more:
        lines.append("there are more: git worker task ready -n 1000")
    return lines


def _share(used: int, limit: int) -> str:
    return f"{used / limit:.0%}" if limit else "100%"
