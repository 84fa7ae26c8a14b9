"""The agent machine: its function and the guard about the agent's task."""

import pytest

from gitworker.model.agent import AgentEvent as E
from gitworker.model.agent import AgentState as S
from gitworker.states.agent_machine import agent_transition, guard_allows
from gitworker.states.engine import InvalidTransition


def test_transition_follows_the_table() -> None:
    """An agent that is asked to start a task starts it, and refuses a second request."""
    assert agent_transition(S.IDLE, E.TASK_ASSIGNED) == S.STARTING
    with pytest.raises(InvalidTransition):
        agent_transition(S.STARTING, E.TASK_ASSIGNED)


@pytest.mark.parametrize(
    ("event", "with_task", "without_task"),
    [
        ("health_check_recovered", False, True),
        ("unpause", False, True),
        ("health_check_resumed", True, False),
        ("resume", True, False),
        ("task_released", True, False),
        ("shutdown_requested", True, True),
    ],
)
def test_guard_looks_at_the_task(event: str, *, with_task: bool, without_task: bool) -> None:
    """A paused or unresponsive agent becomes idle or busy, depending on its task."""
    assert guard_allows(E(event), has_task=True) is with_task
    assert guard_allows(E(event), has_task=False) is without_task
