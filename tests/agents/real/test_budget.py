"""The limit in dollars that Claude Code gets beside the budget of its task."""

import pytest

from fixtures.scripted_model.server import ScriptedModel
from tests.agents.real.machine import AgentMachine, require_agent

pytestmark = pytest.mark.agents


def test_claude_stops_at_its_own_limit(machine: AgentMachine, model: ScriptedModel) -> None:
    """Claude ends after the answer that passes `--max-budget-usd`; its task waits, and goes on."""
    require_agent("claude")
    words = ("spawn", "auth", "t1", "--agent", "claude", "-m", "Add it [[plan:work]]")
    answer = machine.run(*words, "--", "--max-budget-usd", "0.0001")
    assert answer.status == 1
    assert "reached the budget of its run: Reached maximum budget ($0.0001)" in answer.err
    assert len(model.exchanges) == 1
    found = machine.run("show", "auth", "--json").document
    assert (found["task"]["status"], found["run"]["outcome"]) == ("PAUSED", "out_of_budget")
    assert (found["run"]["input_tokens"], found["run"]["output_tokens"]) == (100, 10)
    again = machine.run("exec", "auth", "--agent", "claude")
    assert again.status == 0, again
