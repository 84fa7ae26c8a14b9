"""How each agent is given our MCP server for one run, without a change of the user's files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.agents.environment.toml_text import toml_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SERVER = "gw"
PROGRAM = ("git", "worker", "mcp")
# Codex hands a server only the variables that are named.
VARIABLES = (
    "GITWORKER_ID", "GITWORKER_TASK", "GITWORKER_BRANCH", "GITWORKER_WORKTREE", "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
)  # fmt: skip


class Attachment(NamedTuple):
    """The arguments and the environment that attach the server to one run.

    `settings` is the content of a settings file, for an agent that reads the server only from one.
    `allows` is the rule that permits the tools, for an agent whose permissions are a list.
    """

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    settings: str | None = None
    allows: str | None = None


def mcp_attachment(
    agent: str, program: Sequence[str] = PROGRAM, variables: Sequence[str] = VARIABLES
) -> Attachment | None:
    """Return how an agent of this name gets the server; None if it cannot use one.

    Claude's and Qwen's option takes every word up to the next option, or up to `--`.
    """
    command, *arguments = program
    server: dict[str, Any] = {"command": command, "args": arguments}
    match agent:
        case "claude":
            config = _servers(server | {"alwaysLoad": True})  # else the model must search for them
            return Attachment(("--mcp-config", config), allows=f"mcp__{SERVER}")
        case "codex":
            approval = {"env_vars": list(variables), "default_tools_approval_mode": "approve"}
            return Attachment(("-c", f"mcp_servers.{SERVER}={toml_value(server | approval)}"))
        case "qwen":
            return Attachment(("--mcp-config", _servers(server)), allows=f"mcp__{SERVER}")
        case "gemini":
            return Attachment(settings=_servers(server))
        case "opencode":
            entry = {"type": "local", "command": list(program), "enabled": True}
            content = json.dumps({"mcp": {SERVER: entry}})
            return Attachment(environment={"OPENCODE_CONFIG_CONTENT": content})
    return None


def _servers(server: dict[str, Any]) -> str:
    return json.dumps({"mcpServers": {SERVER: server}})
