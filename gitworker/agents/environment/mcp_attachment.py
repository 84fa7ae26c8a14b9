"""How each agent is given our MCP server for one run, without a change of the user's files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SERVER = "gw"
PROGRAM = ("git", "worker", "mcp")
# Codex hands a server only the variables that are named.
VARIABLES = ("GITWORKER_ID", "GITWORKER_TASK", "GITWORKER_BRANCH", "GITWORKER_WORKTREE")


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
            return Attachment(("-c", _codex_setting(command, arguments, variables)))
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


def _codex_setting(command: str, arguments: Sequence[str], variables: Sequence[str]) -> str:
    """Return the setting in TOML, whose texts and lists have JSON's form here."""
    fields = {
        "command": command, "args": list(arguments), "env_vars": list(variables),
        "default_tools_approval_mode": "approve",
    }  # fmt: skip
    inline = ",".join(f"{name}={json.dumps(value)}" for name, value in fields.items())
    return f"mcp_servers.{SERVER}={{{inline}}}"
