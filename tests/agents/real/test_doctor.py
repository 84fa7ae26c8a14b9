"""`agents doctor` with real agents, which it starts without a model."""

import hashlib
from pathlib import Path

import pytest

from tests.agents.real.machine import PROGRAMS, AgentMachine, require_agent

pytestmark = pytest.mark.agents


def settings(home: Path) -> dict[str, str]:
    """Return the digest of every settings file in a home."""
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.suffix in (".json", ".toml", "")
    }


def only(machine: AgentMachine, agent: str, place: Path) -> AgentMachine:
    """Return the machine with this agent alone on PATH, since each that is asked takes seconds."""
    require_agent(agent)
    (place / agent).symlink_to((PROGRAMS / agent).resolve())
    path = machine.env["PATH"].replace(str(PROGRAMS), str(place))
    return AgentMachine(machine.root, {**machine.env, "PATH": path})


@pytest.mark.parametrize(("agent", "place"), [("claude", "shell"), ("codex", "sandbox")])
def test_installed_agent(
    agent: str, place: str, machine: AgentMachine, hermetic: Path, tmp_path: Path
) -> None:
    """A real agent commits and reaches the bus, in its sandbox too, and its settings stay."""
    before = settings(hermetic)
    answer = only(machine, agent, tmp_path).run("agents", "doctor", "--json")
    found = {one["agent"]: one for one in answer.document["agents"]}[agent]
    assert found["version"][0].isdigit()
    assert (found["probed"], found["commits"], found["reaches_bus"]) == (place, True, True), found
    assert found["problems"] == []
    assert settings(hermetic).items() >= before.items()


def test_protected_sandbox(machine: AgentMachine, tmp_path: Path) -> None:
    """Without its permissions on git's directories Codex cannot commit, and doctor says so."""
    machine.git("config", "worker.agents.codex.probe", "codex\nsandbox\n--\n{command}")
    answer = only(machine, "codex", tmp_path).run("agents", "doctor", "--json")
    found = {one["agent"]: one for one in answer.document["agents"]}["codex"]
    assert (answer.status, found["commits"], found["reaches_bus"]) == (1, False, False)
    assert [one["code"] for one in found["problems"]] == ["commit", "bus"]
