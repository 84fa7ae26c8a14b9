"""Agents whose conversation is shortened or begun again: our hooks introduce them again.

The hooks are those of a run of ours: its prompt has the task, so they introduce the agent only
then.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fixtures.scripted_model.server import ScriptedModel
from gitworker.agents.environment.codex_hooks import codex_hook_options
from gitworker.agents.environment.own_program import this_program
from gitworker.agents.hooks.rules_settings import AGENTS, attached, run_hooks
from tests.agents.real.machine import AgentMachine, require_agent
from tests.agents.real.screen import Screen, on_screen, trust_worktree

pytestmark = pytest.mark.agents
INTRODUCTION = "You are worker auth of git worker"
SESSIONS = {
    "claude": ("claude", "Go [[plan:long]]"),
    "codex": ("codex", "Go [[plan:long]]"),
    "gemini": ("gemini", "--skip-trust", "-i", "Go [[plan:long]]"),
    "qwen": ("qwen", "-i", "Go [[plan:long]]"),
    "opencode": ("opencode", "--prompt", "Go [[plan:long]]"),
}
# The command that shortens the conversation, and the text on the screen afterwards.
SHORTEN = {
    "claude": ("/compact", "Compacted"),
    "codex": ("/compact", "Context compacted"),
    "qwen": ("/compress", "history compressed"),
    "opencode": ("/compact", "Compaction · scripted · "),
}
CLEARED = ("claude", "codex", "gemini", "qwen")
# The end of the first turn, before which Codex refuses such commands.
ENDS = {"codex": "Worked for"}
ANSWER = "That was long."


@pytest.mark.parametrize("agent", SHORTEN)
def test_shortened(agent: str, machine: AgentMachine, model: ScriptedModel, hermetic: Path) -> None:
    """An agent whose conversation was shortened is introduced, and not before."""
    require_agent(agent)
    command, shown = SHORTEN[agent]
    words = prepare(agent, machine, hermetic)
    with on_screen(machine, words, {"GITWORKER_WORKTREE": "t1"}) as screen:
        screen.wait_for(ENDS.get(agent, ANSWER))
        assert INTRODUCTION not in model.texts()
        screen.say(command, lambda: shown in screen.text)
        ask(screen)
    assert INTRODUCTION in model.texts()


@pytest.mark.parametrize("agent", CLEARED)
def test_cleared(agent: str, machine: AgentMachine, model: ScriptedModel, hermetic: Path) -> None:
    """An agent whose conversation begins again in the same session is introduced."""
    require_agent(agent)
    with on_screen(machine, prepare(agent, machine, hermetic)) as screen:
        screen.wait_for(ENDS.get(agent, ANSWER))
        screen.say("/clear", lambda: ANSWER not in screen.text)
        ask(screen)
    requests = [str(one.request) for one in model.exchanges]
    assert any(
        INTRODUCTION in one and "plan:talk" in one and "plan:long" not in one for one in requests
    )


def test_shortened_gemini(machine: AgentMachine, model: ScriptedModel, hermetic: Path) -> None:
    """Gemini CLI, which is introduced at its start, is introduced again after `/compress`."""
    require_agent("gemini")
    with on_screen(machine, prepare("gemini", machine, hermetic)) as screen:
        screen.wait_for(ANSWER)
        assert INTRODUCTION in model.texts()
        screen.say("/compress", lambda: "history compressed" in screen.text)
        ask(screen)
    spoken = [
        str(content)
        for one in model.exchanges
        for content in one.request.get("contents", [])
        if "plan:talk" in str(content)
    ]
    assert any(INTRODUCTION in one for one in spoken), spoken


def ask(screen: Screen) -> None:
    """Give the next prompt, and wait for the answer."""
    screen.say("Go on [[plan:talk]]", lambda: "I did nothing." in screen.text)


def prepare(agent: str, machine: AgentMachine, home: Path) -> Sequence[str]:
    """Attach our hooks in the worktree of t1; return the words that start the agent there.

    Gemini CLI reads no hooks for one run; it is introduced at its start, too.
    """
    machine.run("spawn", "auth", "t1", "-m", "Add the form")
    trust_worktree(machine, home)
    name, *words = SESSIONS[agent]
    if agent in ("gemini", "opencode"):
        assert machine.run("agent", "install", agent).status == 0
        return (name, *words)
    program = this_program()
    assert program is not None
    hooks = run_hooks(agent, program)
    if agent == "codex":
        return (name, *codex_hook_options(hooks["hooks"]), *words)
    local = machine.root / "worktrees" / "t1" / AGENTS[agent].local
    local.parent.mkdir()
    local.write_text(attached(None, agent, program, hooks=hooks))
    return (name, *words)
