"""The round trip without a person, with real agents."""

import pytest

from fixtures.scripted_model.server import ScriptedModel
from tests.agents.real.machine import AgentMachine, require_agent
from tests.agents.real.plans import LINE_WRITERS

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


def test_three_agents_on_one_file(machine: AgentMachine) -> None:
    """Agents of three makers repair conflicts and failed verification, and all of them land."""
    for agent in LINE_WRITERS:
        require_agent(agent)
    machine.root.joinpath("lines").write_text("first\n")
    machine.git("add", "lines")
    machine.git("commit", "-q", "-m", "Add lines")
    # Each agent leaves out its file at first, so that verification sends its work back.
    verify = 'for name in $(sed 1d lines); do test -e "$name.ok" || exit 1; done'
    machine.git("config", "worker.verify.commands", verify)
    machine.git("config", "worker.task.retry-delay-s", "0")
    for agent in LINE_WRITERS:
        words = ("-d", "--auto-resume", "-m", f"Add a line [[plan:line-{agent}]]")
        assert machine.run("spawn", agent, f"t-{agent}", "--agent", agent, *words).status == 0
    left = list(LINE_WRITERS)
    for _ in range(8):
        for agent in left:
            waited = machine.run("wait", agent, "--for", "in_review", "--timeout", "90")
            assert waited.status == 0, machine.log(f"t-{agent}")
        machine.run("land", "--all")
        left = [agent for agent in left if not machine.root.joinpath(f"{agent}.ok").exists()]
        if not left:
            break
    assert left == []
    assert sorted(machine.git("show", "main:lines").split()) == sorted(["first", *LINE_WRITERS])
