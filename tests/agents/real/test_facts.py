"""The facts about agents that the adapters rely on; a newer version that changes one fails here.

The name of a test's variant is the agent and the fact.
"""

import functools
import os
import re
import subprocess

import pytest

from gitworker.agents.adapters.find_adapter import known_adapters
from gitworker.agents.environment.mcp_attachment import mcp_attachment
from tests.agents.real.machine import PROGRAMS, QUIET, AgentMachine, require_agent

pytestmark = pytest.mark.agents
KNOWN = known_adapters()
# The command whose help lists the options of a new run, and of a resumed one.
RUN_HELP = {
    "claude": ("claude",), "codex": ("codex", "exec"), "gemini": ("gemini",), "qwen": ("qwen",),
    "opencode": ("opencode", "run"), "aider": ("aider",), "mini": ("mini",), "pi": ("pi",),
}  # fmt: skip
RESUME_HELP = RUN_HELP | {"codex": ("codex", "exec", "resume")}
OPTION = re.compile(r"--?[a-zA-Z][\w-]*")
# Texts of a help that are values of an option, or commands.
VALUES = (
    ("claude", "the permission mode acceptEdits", ("claude",), ("acceptEdits",)),
    ("claude", "the output format stream-json", ("claude",), ("stream-json",)),
    ("claude", "settings and MCP servers of one run", ("claude",), ("--settings", "--mcp-config")),
    ("codex", "hooks without a stored trust", ("codex", "exec"),
     ("--dangerously-bypass-hook-trust",)),
    ("codex", "a command in its sandbox without a model", ("codex", "sandbox"), ("-c", "COMMAND")),
    ("gemini", "the approval mode yolo", ("gemini",), ("yolo", "stream-json")),
    ("gemini", "an extension is linked", ("gemini", "extensions"), ("link",)),
    ("gemini", "the Agent Client Protocol", ("gemini",), ("--acp",)),
    ("qwen", "the approval mode yolo", ("qwen",), ("yolo", "stream-json")),
    ("qwen", "the Agent Client Protocol", ("qwen",), ("--acp",)),
    ("pi", "the mode json", ("pi",), ("json",)),
    ("opencode", "the format json", ("opencode", "run"), ("json",)),
    ("opencode", "the Agent Client Protocol", ("opencode",), ("opencode acp",)),
)  # fmt: skip


@functools.cache
def help_of(words: tuple[str, ...]) -> str:
    """Return the help of an agent's command."""
    env = {**os.environ, **QUIET, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "COLUMNS": "200"}
    done = subprocess.run(
        [*words, "--help"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def missing(words: tuple[str, ...], wanted: tuple[str, ...]) -> list[str]:
    """Return the texts that the help of a command does not contain as words of their own."""
    text = help_of(words)
    return [one for one in wanted if not re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", text)]


def options_in(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options among words."""
    return tuple(dict.fromkeys(word for word in words if OPTION.fullmatch(word)))


@pytest.mark.parametrize("agent", RUN_HELP)
def test_options_of_a_run(agent: str) -> None:
    """Every option of a new run is in the agent's help."""
    require_agent(agent)
    assert missing(RUN_HELP[agent], options_in(KNOWN[agent].command)) == []


@pytest.mark.parametrize("agent", [name for name in RESUME_HELP if KNOWN[name].resume])
def test_options_of_a_resumed_run(agent: str) -> None:
    """Every option of a resumed run is in the agent's help."""
    require_agent(agent)
    assert missing(RESUME_HELP[agent], options_in(KNOWN[agent].resume)) == []


@pytest.mark.parametrize("agent", [name for name in RUN_HELP if mcp_attachment(name)])
def test_options_of_the_mcp_server(agent: str) -> None:
    """Every option that attaches the MCP server is in the agent's help."""
    require_agent(agent)
    attachment = mcp_attachment(agent)
    assert attachment is not None
    assert missing(RUN_HELP[agent], options_in(attachment.arguments)) == []


@pytest.mark.parametrize(
    ("agent", "words", "wanted"),
    [pytest.param(agent, *rest, id=f"{agent}: {fact}") for agent, fact, *rest in VALUES],
)
def test_values(agent: str, words: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    """A value or a command that we use is in the agent's help."""
    require_agent(agent)
    assert missing(words, wanted) == []


@pytest.mark.parametrize("agent", [name for name in RUN_HELP if name != "mini"])
def test_version(agent: str) -> None:
    """The agent prints its version, in digits, without a model."""
    require_agent(agent)
    words = KNOWN[agent].version
    assert words == (agent, "--version")
    done = subprocess.run(
        words, env={**os.environ, **QUIET, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    said = f"{done.stdout}{done.stderr}"  # pi prints it on standard error
    assert (done.returncode, bool(re.search(r"\d+\.\d+", said))) == (0, True), done


@pytest.mark.parametrize(
    ("script", "status"),
    [
        pytest.param("touch {top}/new", 0, id="codex: the worktree is writable"),
        pytest.param("touch {common}/worker-state-probe", 0, id="codex: C is writable"),
        pytest.param("git config probe.key value", 4, id="codex: C/config is protected"),
        pytest.param("touch {common}/hooks/probe", 1, id="codex: C/hooks is protected"),
        pytest.param("touch {outside}/new", 1, id="codex: other directories are protected"),
        pytest.param("test -d /proc/{pid}", 1, id="codex: processes outside cannot be seen"),
    ],
)
def test_permissions_of_codex(script: str, status: int, machine: AgentMachine) -> None:
    """The sandbox of a run protects all but the worktree and the writable parts of git's data."""
    require_agent("codex")
    assert machine.run("spawn", "auth", "t1").status == 0
    top, common = machine.root / "worktrees" / "t1", machine.root / ".git"
    places = {"git_dir": f"{common}/worktrees/t1", "common_dir": str(common)}
    command = script.format(top=top, common=common, outside=machine.root, pid=os.getpid())
    words = KNOWN["codex"].probe_words(["sh", "-c", f"{command}; echo $?"], places)
    done = subprocess.run(
        words, cwd=top, env={**os.environ, **machine.env}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == f"{status}\n", done
