"""How the shells and the worktrees of real agents differ from those of a person."""

import os
import subprocess

import pytest

from fixtures.scripted_model.server import ScriptedModel
from tests.agents.real.machine import AgentMachine, require_agent

pytestmark = pytest.mark.agents


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_denied_tool(agent: str, machine: AgentMachine) -> None:
    """An agent whose command was refused ends with 0 all the same; nothing is handed in."""
    require_agent(agent)
    words = ("spawn", "auth", "t1", "--agent", agent, "--json", "-m", "Go [[plan:denied]]")
    answer = machine.run(*words)
    assert answer.document["outcome"] == "nothing_handed_in"  # a status of 1 would be `failed`
    assert not (machine.root.parent / "denied").exists()


def test_git_of_gemini(machine: AgentMachine) -> None:
    """Gemini's shell hides hooks and the user's settings, and the identity of the run remains."""
    require_agent("gemini")
    machine.run("spawn", "auth", "t1", "--agent", "gemini", "-m", "Go [[plan:look]]")
    log = machine.log("t1")
    assert "\n  GIT_CONFIG_GLOBAL=/dev/null\n" in log
    assert "\n  command\n" in log  # core.hooksPath is empty by GIT_CONFIG_COUNT
    assert "\n  Ada Tester <" in log


def test_path_of_codex(machine: AgentMachine, model: ScriptedModel) -> None:
    """Codex keeps PATH, because it starts no login shell: `git worker` is found in it."""
    require_agent("codex")
    machine.run("spawn", "auth", "t1", "--agent", "codex", "-m", "Go [[plan:look]]")
    assert "/bin/git-worker" in str(model.exchanges[-1].request), machine.log("t1")


def test_own_worktree_of_claude_is_a_worker(machine: AgentMachine) -> None:
    """With our hooks `claude --worktree` works as a worker, and its work is handed in and lands."""
    require_agent("claude")
    machine.run("init")
    machine.run("config", "agent.hand_in", "true")
    assert machine.run("agent", "install", "claude").status == 0
    done = subprocess.run(
        ["claude", "-p", "--allowedTools", "Bash", "-w", "login-form", "--", "Go [[plan:work]]"],
        cwd=machine.root, env={**os.environ, **machine.env}, check=False, capture_output=True,
        text=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done
    shown = machine.run("show", "cc-login-form", "--json").document
    assert (shown["state"], shown["task"]["id"]) == ("IN_REVIEW", "login-form"), done
    assert machine.run("land", "cc-login-form").status == 0
    assert machine.git("show", "main:hello.txt") == "hello"


def test_own_worktree_of_claude(machine: AgentMachine) -> None:
    """A worktree that `claude --worktree` made is locked by it, and `adopt` takes it over."""
    require_agent("claude")
    done = subprocess.run(
        ["claude", "-p", "-w", "login-form", "--", "Talk [[plan:talk]]"], cwd=machine.root,
        env={**machine.env, "HOME": str(machine.root.parent / "home")}, check=False,
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done
    listed = machine.git("worktree", "list", "--porcelain")
    assert "branch refs/heads/worktree-login-form\nlocked claude session login-form" in listed
    answer = machine.run("adopt", "--rename", "worktree-login-form", "auth", "t1")
    assert answer.status == 0, answer
    assert "claude session" in machine.git("worktree", "list", "--porcelain")
