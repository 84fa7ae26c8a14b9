"""Agents of a person that wait for a permission, in a terminal: they are blocked until it comes."""

import json
from pathlib import Path

import pytest

from gitworker.agents.environment.codex_hooks import codex_hook_options
from gitworker.agents.environment.own_program import this_program
from gitworker.agents.hooks.rules_settings import hook_settings
from gitworker.processes.table import find_process
from tests.agents.real.machine import AgentMachine, require_agent
from tests.agents.real.screen import Screen, on_screen, trust_worktree

pytestmark = pytest.mark.agents
PROMPT = "Go [[plan:ask]]"
SESSIONS = {
    "claude": ("claude", "--permission-mode", "default", PROMPT),
    "codex": ("codex", "-c", 'approval_policy="on-request"', "Go [[plan:escalate]]"),
    "gemini": ("gemini", "--skip-trust", "--approval-mode", "default", "-i", PROMPT),
    "qwen": ("qwen", "--approval-mode", "default", "-i", PROMPT),
    "opencode": ("opencode", "--prompt", PROMPT),
}
# The questions on the screen, whose first answer is yes.
QUESTIONS = {
    "claude": "Do you want to proceed?",
    "codex": "Would you like to run",
    "gemini": "Allow",
    "qwen": "Allow execution",
    "opencode": "Permission required",
}
ASKING = {"OPENCODE_PERMISSION": '{"bash": "ask"}'}


@pytest.mark.parametrize("agent", SESSIONS)
def test_a_permission_blocks(agent: str, machine: AgentMachine, hermetic: Path) -> None:
    """An agent that waits for its user's permission is blocked, and `inbox` lists it until then."""
    require_agent(agent)
    attach(machine, agent)
    trust_worktree(machine, hermetic)
    words = SESSIONS[agent]
    if agent == "codex":  # it runs hooks of a file only after its user has trusted them
        program = this_program()
        assert program is not None
        words = (
            *words[:-1],
            *codex_hook_options(hook_settings(agent, program)["hooks"]),
            words[-1],
        )
    with on_screen(machine, words, ASKING) as screen:
        screen.wait_until(lambda: is_blocked(machine))
        screen.wait_until(lambda: screen.pid in processes_of(machine))  # a job records it
        screen.wait_for(QUESTIONS[agent])
        screen.press("Enter")
        screen.wait_until(lambda: not is_blocked(machine))
    assert blockings(machine) == 1


def test_a_permission_blocks_a_run(machine: AgentMachine, hermetic: Path) -> None:
    """An agent under supervision that asks on its terminal is blocked; `log` has its screen."""
    require_agent("claude")
    attach(machine, "claude")
    trust_worktree(machine, hermetic)
    program = this_program()
    assert program is not None
    with on_screen(machine, (program, "exec", "auth", "--", *SESSIONS["claude"])) as screen:
        screen.wait_until(lambda: is_blocked(machine))
        screen.wait_for(QUESTIONS["claude"])
        screen.press("Enter")
        screen.wait_until(lambda: not is_blocked(machine))
        shown = ("log", "auth", "--agent-log", "40")
        screen.wait_until(lambda: "auth | ● I may.\n" in machine.run(*shown).out)


def test_modes_of_claude(machine: AgentMachine, hermetic: Path) -> None:
    """In its mode `auto`, Claude Code is blocked by its first question and by its permissions."""
    require_agent("claude")
    attach(machine, "claude")
    trust_worktree(machine, hermetic)
    words = ("claude", "--permission-mode", "auto", "Go [[plan:ask-twice]]")
    with on_screen(machine, words) as screen:
        screen.wait_until(lambda: blockings(machine) == 1)
        screen.wait_for("Auto mode can't check actions in this session")
        screen.press("Enter")
        allow(screen, "print(1)")
        screen.wait_until(lambda: blockings(machine) == 2)
        assert is_blocked(machine)
        allow(screen, "print(2)")
        screen.wait_until(lambda: not is_blocked(machine))


def allow(screen: Screen, command: str) -> None:
    """Answer the question of Claude Code whose first answer is no.

    The dialog may be drawn again, and then it has forgotten the keys.
    """

    def is_asked() -> bool:
        text = screen.text
        return "Do you want to proceed?" in text and command in text.partition("Bash command")[2]

    screen.wait_until(is_asked)
    while is_asked():
        screen.press("Down")
        screen.wait_for("❯ Yes")
        screen.press("Enter")
        screen.wait_until(lambda: "❯ Yes" not in screen.text)


def attach(machine: AgentMachine, agent: str) -> None:
    """Give the worker `auth` the task t1, and attach our hooks to an agent."""
    machine.run("spawn", "auth", "t1", "-m", "Add the form")
    if agent != "codex":
        assert machine.run("agent", "install", agent).status == 0


def is_blocked(machine: AgentMachine) -> bool:
    """Return whether `inbox` lists the worker as blocked."""
    return "blocked auth" in machine.run("inbox").out


def blockings(machine: AgentMachine) -> int:
    """Return how often the worker has reported that it is blocked."""
    lines = (machine.root / ".git/worker-state/bus.jsonl").read_text().splitlines()
    return sum(json.loads(line)["type"] == "task_blocked" for line in lines)


def processes_of(machine: AgentMachine) -> list[int]:
    """Return the recorded process of the worker, if any, and those above it."""
    pid = machine.run("show", "auth", "--json").document["process"]["pid"]
    found = [None if pid is None else find_process(pid)]
    while found[-1] is not None:
        found.append(find_process(found[-1].parent))
    return [one.pid for one in found if one is not None]
