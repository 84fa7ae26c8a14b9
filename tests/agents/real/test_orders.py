"""Orders to real agents while they wait for their model: stop, pause and continue, a time limit."""

from typing import Any

import pytest

from fixtures.scripted_model.server import ScriptedModel
from gitworker.processes.table import all_processes
from tests.agents.real.machine import AgentMachine, require_agent
from tests.agents.supervised import is_stopped
from tests.cli.kit import wait_until

pytestmark = pytest.mark.agents
AGENTS = ("claude", "codex")


def begin(machine: AgentMachine, model: ScriptedModel, agent: str) -> int:
    """Start a detached agent, wait until it waits for the model, and return its process."""
    require_agent(agent)
    words = ("spawn", "auth", "t1", "--agent", agent, "-d", "-m", "Add it [[plan:wait]]")
    answer = machine.run(*words)
    assert answer.status == 0, answer
    assert model.is_holding.wait(60), machine.log("t1")
    return int(run_of(machine)["pid"])


def run_of(machine: AgentMachine) -> dict[str, Any]:
    """Return the facts about the newest run."""
    found: dict[str, Any] = machine.run("show", "auth", "--json").document["run"]
    return found


def session_of(pid: int) -> list[int]:
    """Return the processes of an agent's session."""
    return [one.pid for one in all_processes() or () if one.session == pid]


@pytest.mark.parametrize("agent", AGENTS)
def test_stop(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """A stop order ends the agent and all its processes, and the run says so."""
    pid = begin(machine, model, agent)
    assert machine.run("stop", "auth").status == 0
    wait_until(lambda: run_of(machine)["outcome"] == "stopped")
    assert session_of(pid) == []


@pytest.mark.parametrize("agent", ["qwen", "gemini"])
def test_stop_by_protocol(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """A stop order cancels the turn of an agent that speaks ACP, and ends its processes."""
    stop_by_protocol(agent, machine, model)


def test_session_after_a_stop(machine: AgentMachine, model: ScriptedModel) -> None:
    """The session of a cancelled turn is kept, and continues with its conversation."""
    stop_by_protocol("qwen", machine, model)
    again = ("exec", "auth", "--agent", "acp", "--continue", "-m", "More [[plan:more]]")
    model.released.set()
    assert machine.run(*again, "--", "qwen", "--acp").status == 0, machine.log("t1")
    assert "Add it [[plan:wait]]" in str(model.exchanges[-1].request)


def stop_by_protocol(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """Stop an agent that speaks ACP in the middle of its turn."""
    require_agent(agent)
    words = ("spawn", "auth", "t1", "--agent", "acp", "-d", "-m", "Add it [[plan:wait]]")
    assert machine.run(*words, "--", agent, "--acp").status == 0
    assert model.is_holding.wait(60), machine.log("t1")
    pid = run_of(machine)["pid"]
    assert machine.run("stop", "auth").status == 0
    wait_until(lambda: run_of(machine)["outcome"] == "stopped")
    assert session_of(pid) == []
    assert "! the turn was cancelled" in machine.log("t1")


@pytest.mark.parametrize("agent", AGENTS)
def test_pause_and_continue(agent: str, machine: AgentMachine, model: ScriptedModel) -> None:
    """A paused agent does nothing, although its model has answered, and then finishes its task."""
    pid = begin(machine, model, agent)
    assert machine.run("pause", "auth").status == 0
    wait_until(lambda: all(map(is_stopped, session_of(pid))))
    seen = len(model.exchanges)
    model.released.set()
    assert machine.run("wait", "auth", "--for", "in_review", "--timeout", "1").status != 0
    assert len(model.exchanges) == seen
    assert machine.run("continue", "auth").status == 0
    assert machine.run("wait", "auth", "--for", "in_review", "--timeout", "60").status == 0


@pytest.mark.parametrize("agent", AGENTS)
def test_time_limit(agent: str, machine: AgentMachine) -> None:
    """The time limit ends an agent that waits for its model."""
    require_agent(agent)
    assert machine.run("spawn", "auth", "t1", "-m", "Add it [[plan:wait]]").status == 0
    answer = machine.run("exec", "auth", "--agent", agent, "--time-limit", "4", "--json")
    assert (answer.status, answer.document["outcome"]) == (1, "timed_out")
    assert session_of(answer.document["pid"]) == []
