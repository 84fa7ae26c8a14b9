"""Each agent gets our MCP server in its own form, for one run."""

import json
import tomllib

import pytest

from gitworker.agents.environment.mcp_attachment import VARIABLES, mcp_attachment

PROGRAM = ("/opt/a b/git-worker", "mcp")


def test_options() -> None:
    """Claude and Qwen take JSON in an option; Claude's tools need no search."""
    claude, qwen = mcp_attachment("claude", PROGRAM), mcp_attachment("qwen", PROGRAM)
    assert claude is not None
    assert qwen is not None
    assert claude.arguments[0] == qwen.arguments[0] == "--mcp-config"
    server = {"command": PROGRAM[0], "args": ["mcp"]}
    assert json.loads(qwen.arguments[1]) == {"mcpServers": {"gw": server}}
    assert json.loads(claude.arguments[1])["mcpServers"]["gw"] == server | {"alwaysLoad": True}
    assert claude.allows == "mcp__gw"


def test_codex() -> None:
    """Codex takes TOML, with the variables to pass and an approval in advance."""
    found = mcp_attachment("codex", PROGRAM)
    assert found is not None
    option, setting = found.arguments
    server = tomllib.loads(setting)["mcp_servers"]["gw"]
    assert (option, server["command"], server["args"]) == ("-c", PROGRAM[0], ["mcp"])
    assert server["env_vars"] == list(VARIABLES)
    assert server["default_tools_approval_mode"] == "approve"


def test_files_and_variables() -> None:
    """Gemini reads a settings file, OpenCode a variable."""
    gemini, opencode = mcp_attachment("gemini"), mcp_attachment("opencode")
    assert gemini is not None
    assert opencode is not None
    assert gemini.settings is not None
    command = {"command": "git", "args": ["worker", "mcp"]}
    assert json.loads(gemini.settings) == {"mcpServers": {"gw": command}}
    content = json.loads(opencode.environment["OPENCODE_CONFIG_CONTENT"])
    assert content["mcp"]["gw"]["command"] == ["git", "worker", "mcp"]


@pytest.mark.parametrize("agent", ["aider", "mini", "pi", "unknown"])
def test_agents_without_mcp(agent: str) -> None:
    """An agent that cannot use a server gets none."""
    assert mcp_attachment(agent) is None
