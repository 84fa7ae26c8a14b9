"""Our MCP server and our hooks, attached to real agents that the scripted model drives."""

import shutil

import pytest

from fixtures.scripted_model import messages, responses
from fixtures.scripted_model.server import ScriptedModel
from tests.agents.real.machine import AgentMachine, require_agent

pytestmark = pytest.mark.agents
AGENTS = ("claude", "codex")
WIRES = {"claude": messages, "codex": responses}
SANDBOX = '{"sandbox": {"enabled": true, "allowUnsandboxedCommands": false}}'
# The strictest usual sandbox of each: git's directories are read-only for its shell.
SANDBOXED = {
    "claude": ("--", "--settings", SANDBOX),
    "codex": ("--", "-c", 'default_permissions=":workspace"'),
}


@pytest.mark.parametrize("agent", AGENTS)
def test_message_in_mid_run(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """A message that is sent during a tool's call is in the next request to the model."""
    require_agent(agent)
    machine.run("spawn", "auth", "t1", "--agent", agent, "-m", "Go [[plan:hear]]")
    first, second = (str(one.request) for one in model.exchanges[:2])
    assert "from hq: Use tabs" not in first
    assert "from hq: Use tabs" in second, machine.log("t1")
    assert machine.run("msg", "poll", "--as", "auth", "--mine").out.count("Use tabs") == 0


@pytest.mark.parametrize("agent", AGENTS)
def test_uncommitted_work(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """An agent that would end with uncommitted work is asked once to commit it."""
    require_agent(agent)
    machine.run("spawn", "auth", "t1", "--agent", agent, "-m", "Go [[plan:forget]]")
    assert "Not committed: hello.txt" in str(model.exchanges[-1].request), machine.log("t1")
    assert len(model.exchanges) == 3


@pytest.mark.parametrize("agent", AGENTS)
def test_tools(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """A worker's tools are offered, and those of an agent that directs workers are not."""
    require_agent(agent)
    machine.run("spawn", "auth", "t1", "--agent", agent, "-m", "Go [[plan:talk]]")
    offered = {tool.name for tool in WIRES[agent].read(model.exchanges[0].request).tools}
    ours = {name.removeprefix("mcp__gw__") for name in offered}
    assert {"whoami", "inbox", "commit", "done"} <= ours, offered
    assert "spawn" not in ours


@pytest.mark.parametrize("agent", AGENTS)
def test_sandboxed_agent_hands_in(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """An agent whose shell cannot write git's directories commits and hands in by its tools."""
    require_agent(agent)
    if agent == "claude" and not (shutil.which("bwrap") and shutil.which("socat")):
        pytest.skip("Claude's sandbox needs bwrap and socat")
    words = ("spawn", "auth", "t1", "--agent", agent, "-m", "Go [[plan:boxed]]")
    answer = machine.run(*words, *SANDBOXED[agent])
    assert answer.status == 0, machine.log("t1")
    if agent == "codex":
        assert "Read-only file system" in model.texts()
    assert machine.run("show", "auth", "--json").document["state"] == "IN_REVIEW"
    assert machine.git("log", "--format=%s", "main..auth/t1") == "Add hello"
    assert machine.run("land", "auth").status == 0
    assert machine.git("show", "main:hello.txt") == "hello"
