"""The round trip without a person, with real agents."""

import pytest

from fixtures.scripted_model.server import ScriptedModel
from tests.agents.real.machine import AgentMachine, require_agent

pytestmark = pytest.mark.agents


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_rejected_round(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """A rejected agent is resumed in its own conversation, with the comment as its prompt."""
    require_agent(agent)
    words = ("spawn", "auth", "t1", "--agent", agent, "-d", "--auto-resume")
    assert machine.run(*words, "-m", "Add it [[plan:work]]").status == 0
    in_review = ("wait", "auth", "--for", "in_review", "--timeout", "60")
    assert machine.run(*in_review).status == 0, machine.log("t1")
    assert machine.run("reject", "auth", "-m", "Add more [[plan:more]]").status == 0
    assert machine.run(*in_review).status == 0, machine.log("t1")
    last = str(model.exchanges[-1].request)
    assert "I added hello.txt." in last
    assert "was sent back: changes were requested." in last
    assert "Add more [[plan:more]]" in last
    assert machine.git("rev-list", "--count", "main..auth/t1") == "2"
    assert machine.run("land", "auth").status == 0
