"""The part of `status` about the queue: agents, budgets, and the first tasks that may start.

Its cost does not depend on the number of tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gitworker.model.tokens.prices import json_cost
from gitworker.observe.queue.agent_use import ShownAgent, shown_agents
from gitworker.observe.text import BLUE, CYAN, DIM, NOTHING, RED, YELLOW, age_text, one_line, table
from gitworker.store.records.task_queue import QueuedTask, ready_tasks
from gitworker.store.scheduling.projects import all_projects
from gitworker.store.scheduling.usage import spending_by_project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.model.project import Project
    from gitworker.model.tokens.prices import Cost, Price
    from gitworker.store.api import Reader

QUEUE_SHOWN = 5
AGENTS = ("AGENT", "TYPE", "STATE", "TASKS", "USE", "TOKENS")
BUDGETS = ("PROJECT", "STATUS", "TOKENS", "BUDGET", "USED", "COST")
QUEUE = ("NEXT", "PRIORITY", "AGE", "TITLE")
COLORS = {"busy": CYAN, "starting": BLUE, "idle": DIM, "paused": YELLOW, "unresponsive": RED,
          "error": RED}  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueueOverview:
    """The registered agents, the projects, and the first tasks that may start.

    `projects` are those with a budget or a known cost, `costs` the costs by project.
    """

    agents: tuple[ShownAgent, ...] = ()
    projects: tuple[Project, ...] = ()
    costs: Mapping[str, Cost] = field(default_factory=dict)
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
                    **json_cost(self.costs.get(one.id)),
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


def read_overview(reader: Reader, prices: Mapping[str, Price]) -> QueueOverview:
    """Read the overview in the caller's snapshot; `prices` complete the reported costs."""
    ready = ready_tasks(reader, QUEUE_SHOWN + 1)
    spending = spending_by_project(reader)
    costs = {name: cost for name, one in spending.items() if (cost := one.cost(prices))}
    return QueueOverview(
        tuple(shown_agents(reader)),
        tuple(
            one for one in all_projects(reader) if one.budget_limit is not None or one.id in costs
        ),
        costs,
        tuple(ready[:QUEUE_SHOWN]),
        len(ready) > QUEUE_SHOWN,
    )


def render_overview(
    found: QueueOverview, now_ms: int, *, width: int | None, color: bool
) -> list[str]:
    """Return a table for each part that has content, each after an empty line."""
    agents = [
        (one.agent.name, one.agent.agent_type, one.agent.state.lower(),
         f"{one.at_work}/{one.agent.tasks}", f"{one.utilization:.0%}",
         f"{one.agent.total_tokens:,}")
        for one in found.agents
    ]  # fmt: skip
    budgets = [
        (one.id, one.status.lower(), f"{one.total_tokens_used:,}", *_of_budget(one),
         cost.text if (cost := found.costs.get(one.id)) else NOTHING)
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


def _of_budget(project: Project) -> tuple[str, str]:
    """Return the budget of a project, and the share of it that is used."""
    limit = project.budget_limit
    if limit is None:
        return NOTHING, NOTHING
    return f"{limit:,}", f"{project.total_tokens_used / limit:.0%}" if limit else "100%"
