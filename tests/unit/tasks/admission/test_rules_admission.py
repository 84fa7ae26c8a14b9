"""The limits of a start: of its task, its project, its agent and the kind of its agent."""

import pytest

from gitworker.tasks.admission.rules_admission import (
    LIMIT,
    Running,
    StartFacts,
    agent_of,
    start_refusal,
)

FACTS = StartFacts("claude-3", "t3", "claude", agent="claude")
OTHERS = (
    Running("claude-1", "default", "claude"),
    Running("claude-2", "other", "claude"),
    Running("ui", "default", "codex"),
)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, None),
        ({"is_held": True}, "task_held"),
        ({"project_status": "PAUSED"}, "project_paused"),
        ({"project_status": "PAUSED", "has_begun": True}, None),
        ({"project_status": "ARCHIVED", "has_begun": True}, "project_paused"),
        ({"budget": 10, "tokens": 9}, None),
        ({"budget": 10, "tokens": 10, "has_begun": True}, "budget_exhausted"),
        ({"agent_state": "PAUSED"}, "agent_paused"),
        ({"project_agents": 3}, None),
        ({"project_agents": 2}, LIMIT),
        ({"agent_tasks": 3}, None),
        ({"agent_tasks": 2}, LIMIT),
        ({"type_agents": 2}, LIMIT),
        ({"type_agents": 2, "agent_type": "codex"}, None),
    ],
)
def test_the_first_limit_that_is_reached_refuses(
    change: dict[str, object], code: str | None
) -> None:
    """A start below all limits is admitted; work at hand continues in a paused project."""
    refusal = start_refusal(FACTS._replace(running=OTHERS, **change))  # type: ignore[arg-type]
    assert (refusal.code if refusal else None) == code


def test_a_refusal_names_the_limit_and_the_command_that_helps() -> None:
    """The agents that count are named, and the hint waits for one of them."""
    refusal = start_refusal(FACTS._replace(running=OTHERS, project_agents=2))
    assert refusal is not None
    assert refusal.message == (
        "project default allows 2 agents at once (claude-1, ui), so none starts on t3"
    )
    assert refusal.hint == "git worker wait claude-1"
    many = tuple(Running(f"w{number}", "default", "claude") for number in range(5))
    crowded = start_refusal(FACTS._replace(running=many, type_agents=1))
    assert crowded is not None
    assert "(w0, w1, w2 and 2 more)" in crowded.message
    closed = start_refusal(FACTS._replace(type_agents=0))
    assert closed is not None
    assert closed.hint == "git worker config agents.limits"


@pytest.mark.parametrize(
    ("worker", "agent"), [("claude-2", "claude"), ("ui", "ui"), ("a-b-12", "a-b"), ("-1", "-1")]
)
def test_a_slot_belongs_to_its_agent(worker: str, agent: str) -> None:
    """The number at the end of a worker's id is that of the slot."""
    assert agent_of(worker) == agent
