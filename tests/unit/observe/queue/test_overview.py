"""The agents, the budgets and the queue on the screen status."""

from gitworker.model.project import Project
from gitworker.model.tokens.prices import Cost
from gitworker.observe.queue.agent_use import ShownAgent
from gitworker.observe.queue.overview import QueueOverview, render_overview
from gitworker.store.records.task_queue import QueuedTask
from gitworker.store.scheduling.agents import RegisteredAgent, SlotRow

NOW = 10_000_000
ADA = RegisteredAgent("ada", "ada", "claude", "BUSY", tasks=3, total_tokens=12_000)
SLOTS = (
    SlotRow("ada-1", "WORKING", None, waits_for_author=False, task="a", worktree="", status=None),
    SlotRow("ada-2", "COMPLETED", None, waits_for_author=False, task="b", worktree="", status=None),
)
FOUND = QueueOverview(
    (ShownAgent(ADA, SLOTS),),
    (Project("web", "Web", total_tokens_used=500, budget_limit=2000),),
    {"web": Cost(1.5, 1.5)},
    (QueuedTask("menu", "Add \x1b[2Jit", 90, NOW - 60_000),),
    has_more=True,
)

SCREEN = """

AGENT  TYPE    STATE  TASKS  USE  TOKENS
ada    claude  busy   1/3    33%  12,000

PROJECT  STATUS  TOKENS  BUDGET  USED  COST
web      active  500     2,000   25%   ~$1.50

NEXT  PRIORITY  AGE  TITLE
menu  90        1m   Add \\x1b[2Jit
there are more: git worker task ready -n 1000"""


def test_screen() -> None:
    """Each part has a table; a part without content has none."""
    assert "\n".join(["", *render_overview(FOUND, NOW, width=80, color=False)]) == SCREEN
    assert render_overview(QueueOverview(), NOW, width=80, color=False) == []
    empty = QueueOverview((), (Project("x", "", budget_limit=0), Project("y", "")))
    rows = render_overview(empty, NOW, width=80, color=False)[-2:]
    assert [row.split()[2:] for row in rows] == [["0", "0", "100%", "-"], ["0", "-", "-", "-"]]
    assert "\x1b[36mbusy" in "".join(render_overview(FOUND, NOW, width=80, color=True))


def test_json() -> None:
    """The same as JSON data, with the share of an agent's tasks that are at work."""
    found = FOUND.to_json()
    assert found["agents"] == [
        {
            "agent": "ada", "type": "claude", "state": "BUSY", "at_work": 1,
            "max_concurrent_tasks": 3, "utilization": 0.333, "total_tokens": 12_000,
        }
    ]  # fmt: skip
    assert found["budgets"] == [
        {
            "project": "web", "status": "ACTIVE", "tokens_used": 500, "budget_limit": 2000,
            "cost_usd": 1.5, "estimated_usd": 1.5,
        }
    ]  # fmt: skip
    ready = [
        {"task": "menu", "title": "Add \x1b[2Jit", "priority": 90, "project": "default"},
    ]
    assert found["queue"] == {"ready": ready, "more": True}
