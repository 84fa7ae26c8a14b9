"""Our MCP server and our hooks, attached to real agents that the scripted model drives."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fixtures.scripted_model import chat, gemini, messages, responses
from fixtures.scripted_model.server import ScriptedModel
from gitworker.agents.adapters.attach_run import ONE_ATTEMPT
from gitworker.agents.environment.mcp_attachment import mcp_attachment
from tests.agents.real.machine import AgentMachine, require_agent
from tests.cli.kit import wait_until

pytestmark = pytest.mark.agents
SANDBOXED_AGENTS = ("claude", "codex")
HEARING = (*SANDBOXED_AGENTS, "qwen", pytest.param("opencode", marks=pytest.mark.slow))
WIRES = {"claude": messages, "codex": responses, "opencode": chat}
# The names of our tools: Codex has a namespace of its own for them.
PREFIXES = {"claude": "mcp__gw__", "codex": "", "opencode": "gw_"}
SANDBOX = '{"sandbox": {"enabled": true, "allowUnsandboxedCommands": false}}'
# The strictest usual sandbox of each: git's directories are read-only for its shell.
SANDBOXED = {
    "claude": ("--", "--settings", SANDBOX),
    "codex": ("--", "-c", 'default_permissions=":workspace"'),
}
# The reason for which `git add -A` fails in it; Claude binds device nodes over files of the user.
REFUSALS = {"claude": "can only add regular files", "codex": "Read-only file system"}


def require_sandbox() -> None:
    """Skip the test, with the refused call, if the programs of Claude's sandbox cannot run."""
    for name in ("bwrap", "socat"):
        if shutil.which(name) is None:
            pytest.skip(f"Claude's sandbox needs {name}")
    box = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "true")
    done = subprocess.run(["bwrap", *box], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"Claude's sandbox cannot run here: {done.stderr.strip()}")


@pytest.mark.parametrize("agent", HEARING)
def test_message_in_mid_run(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """A message that is sent during a tool's call is in the next request to the model."""
    require_agent(agent)
    machine.run("spawn", "auth", "t1", "--agent", agent, "-m", "Go [[plan:hear]]")
    sent = next(at for at, one in enumerate(model.exchanges) if "worker send" in str(one.answer))
    assert "from hq: Use tabs" not in str(model.exchanges[sent].request)
    assert "from hq: Use tabs" in str(model.exchanges[sent + 1].request), machine.log("t1")
    assert machine.run("msg", "poll", "--as", "auth", "--mine").out.count("Use tabs") == 0


# A session that a person starts, without a supervisor.
SESSIONS = {
    "claude": ("claude", "-p", "--", "Go [[plan:talk]]"),
    "qwen": ("qwen", "--approval-mode", "yolo", "Go [[plan:talk]]"),
    "gemini": ("gemini", "--approval-mode", "yolo", "--skip-trust", "-p", "Go [[plan:talk]]"),
    "opencode": ("opencode", "run", "--auto", "Go [[plan:talk]]"),
}


@pytest.mark.parametrize("agent", SESSIONS)
def test_session_of_a_person(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """The hooks of `agent install` introduce an agent that a person starts, and begin its work."""
    require_agent(agent)
    machine.run("spawn", "auth", "t1", "-m", "Add the form")
    machine.run("agent", "install", agent)
    done = subprocess.run(
        SESSIONS[agent], cwd=machine.root / "worktrees" / "t1",
        env={**os.environ, **machine.env, **ONE_ATTEMPT}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    introduction = "You are worker auth of git worker"
    # Qwen's own memory agent may ask the model once more afterwards.
    assert any(introduction in str(one.request) for one in model.exchanges)
    wait_until(
        lambda: "agent_started" in (machine.root / ".git/worker-state/bus.jsonl").read_text()
    )


@pytest.mark.parametrize("agent", [*SANDBOXED_AGENTS, "qwen"])
def test_uncommitted_work(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """An agent that would end with uncommitted work is asked once to commit it."""
    require_agent(agent)
    machine.run("spawn", "auth", "t1", "--agent", agent, "-m", "Go [[plan:forget]]")
    assert "Not committed: hello.txt" in str(model.exchanges[-1].request), machine.log("t1")
    assert len(model.exchanges) == 3


@pytest.mark.parametrize("agent", WIRES)
def test_tools(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """A worker's tools are offered, and those of an agent that directs workers are not."""
    require_agent(agent)
    machine.run("spawn", "auth", "t1", "--agent", agent, "-m", "Go [[plan:talk]]")
    requests = (WIRES[agent].read(one.request) for one in model.exchanges)
    offered = {tool.name for request in requests for tool in request.tools}
    prefix = PREFIXES[agent]
    assert {f"{prefix}{name}" for name in ("whoami", "inbox", "commit", "done")} <= offered
    assert f"{prefix}spawn" not in offered


def test_tools_of_gemini(machine: AgentMachine, model: ScriptedModel, hermetic: Path) -> None:
    """Gemini CLI offers the tools of the server in the user's settings, and calls them at once."""
    require_agent("gemini")
    attachment = mcp_attachment("gemini")
    assert attachment is not None
    assert attachment.settings is not None
    path = hermetic / ".gemini" / "settings.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | json.loads(attachment.settings)))
    machine.run("spawn", "auth", "t1", "--agent", "gemini", "-m", "Go [[plan:know]]")
    offered = {tool.name for one in model.exchanges for tool in gemini.read(one.request).tools}
    assert {f"mcp_gw_{name}" for name in ("whoami", "inbox", "commit", "done")} <= offered
    last = str(model.exchanges[-1].request)
    assert "auth/t1" in last.partition("mcp_gw_whoami")[2], machine.log("t1")


def test_tools_of_qwen(machine: AgentMachine, model: ScriptedModel) -> None:
    """Qwen Code finds our tools by its search, and calls them without a permission."""
    require_agent("qwen")
    machine.run("spawn", "auth", "t1", "--agent", "qwen", "-m", "Go [[plan:search]]")
    last = str(model.exchanges[-1].request)
    assert "tool_search" in last
    assert "auth/t1" in last.partition("mcp__gw__whoami")[2], machine.log("t1")


@pytest.mark.parametrize("agent", SANDBOXED_AGENTS)
def test_sandboxed_agent_hands_in(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """An agent whose shell cannot write git's directories commits and hands in by its tools."""
    require_agent(agent)
    if agent == "claude":
        require_sandbox()
    words = ("spawn", "auth", "t1", "--agent", agent, "-m", "Go [[plan:boxed]]")
    answer = machine.run(*words, *SANDBOXED[agent])
    assert answer.status == 0, machine.log("t1")
    assert REFUSALS[agent] in model.texts(), machine.log("t1")
    assert machine.run("show", "auth", "--json").document["state"] == "IN_REVIEW"
    assert machine.git("log", "--format=%s", "main..auth/t1") == "Add hello"
    assert machine.run("land", "auth").status == 0
    assert machine.git("show", "main:hello.txt") == "hello"
