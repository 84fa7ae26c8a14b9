"""`agents doctor` with real agents, which it starts without a model."""

import hashlib
from pathlib import Path

import pytest

from tests.agents.real.machine import AgentMachine, require_agent

pytestmark = pytest.mark.agents


def settings(home: Path) -> dict[str, str]:
    """Return the digest of every settings file in a home."""
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.suffix in (".json", ".toml", "")
    }


@pytest.mark.parametrize(("agent", "place"), [("claude", "shell"), ("codex", "sandbox")])
def test_installed_agent(agent: str, place: str, machine: AgentMachine, hermetic: Path) -> None:
    """A real agent commits and reaches the bus, in its sandbox too, and its settings stay."""
    require_agent(agent)
    before = settings(hermetic)
    answer = machine.run("agents", "doctor", "--json")
    found = {one["agent"]: one for one in answer.document["agents"]}[agent]
    assert found["version"][0].isdigit()
    assert (found["probed"], found["commits"], found["reaches_bus"]) == (place, True, True), found
    assert found["problems"] == []
    assert settings(hermetic).items() >= before.items()


def test_protected_sandbox(machine: AgentMachine) -> None:
    """Without its permissions on git's directories Codex cannot commit, and doctor says so."""
    require_agent("codex")
    machine.git("config", "worker.agents.codex.probe", "codex\nsandbox\n--\n{command}")
    answer = machine.run("agents", "doctor", "--json")
    found = {one["agent"]: one for one in answer.document["agents"]}["codex"]
    assert (answer.status, found["commits"], found["reaches_bus"]) == (1, False, False)
    assert [one["code"] for one in found["problems"]] == ["commit", "bus"]
