"""The Model Context Protocol: what each method returns, in both of its generations.

Since 2026-07-28 every request carries its version in `_meta` and there is no handshake; before,
`initialize` agrees on a version. A request is answered in the generation that it is written in, so
that no state is kept between requests.
"""

from __future__ import annotations

from gitworker import __version__
from gitworker.mcp.rpc import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitworker.mcp.rpc import Request
    from gitworker.mcp.tool import Tool
    from gitworker.mcp.toolbox import Toolbox

STATELESS = "2026-07-28"
# 2025-03-26 is left out: it demands batches.
WITH_HANDSHAKE = ("2025-11-25", "2025-06-18", "2024-11-05")
VERSIONS = (STATELESS, *WITH_HANDSHAKE)
UNSUPPORTED_VERSION = -32022
META = "io.modelcontextprotocol/"
VERSION_KEY, CAPABILITIES_KEY = f"{META}protocolVersion", f"{META}clientCapabilities"
SERVER = {"name": "gitworker", "title": "git worker", "version": __version__}
CAPABILITIES: dict[str, Any] = {"tools": {}}
# The tools of a server never change, and depend on its identity.
CACHED: dict[str, Any] = {"ttlMs": 3_600_000, "cacheScope": "private"}


def is_stateless(request: Request) -> bool:
    """Return whether a request is of the generation without a handshake.

    Raises RpcError for a version that we do not know, or an incomplete envelope.
    """
    meta = request.params.get("_meta")
    if not isinstance(meta, dict) or VERSION_KEY not in meta:
        if request.method == "server/discover":
            raise _invalid(request, f"params._meta needs {VERSION_KEY}")
        return False
    version = meta[VERSION_KEY]
    if not isinstance(version, str) or not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise _invalid(request, f"params._meta needs {VERSION_KEY} and {CAPABILITIES_KEY}")
    if version != STATELESS:
        raise RpcError(
            UNSUPPORTED_VERSION, "the protocol version is not supported", id=request.id,
            data={"supported": list(VERSIONS), "requested": version},
        )  # fmt: skip
    return True


def answer(request: Request, toolbox: Toolbox) -> dict[str, Any]:
    """Return the result of a method other than `tools/call`; raise RpcError for an unknown one."""
    method = request.method
    if method == "initialize":
        wanted = request.params.get("protocolVersion")
        version = wanted if wanted in WITH_HANDSHAKE else WITH_HANDSHAKE[0]
        return {
            "protocolVersion": version,
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER,
            "instructions": toolbox.instructions,
        }
    stateless = is_stateless(request)
    if method == "server/discover":
        result = {
            "supportedVersions": list(VERSIONS),
            "capabilities": CAPABILITIES,
            "instructions": toolbox.instructions,
            **CACHED,
        }
    elif method == "ping":
        result = {}
    elif method == "tools/list":
        if request.params.get("cursor") is not None:
            raise _invalid(request, "there is only one page of tools")
        result = {"tools": [tool.declaration() for tool in toolbox.tools.values()]}
        result |= CACHED if stateless else {}
    else:
        raise RpcError(
            METHOD_NOT_FOUND, f"no method is called {ascii(method)[:80]}", id=request.id,
        )  # fmt: skip
    return completed(result) if stateless else result


def chosen_tool(request: Request, toolbox: Toolbox) -> tuple[Tool, dict[str, Any]]:
    """Return the tool and the arguments of `tools/call`; raise RpcError for an unknown tool."""
    name, arguments = request.params.get("name"), request.params.get("arguments")
    if not isinstance(name, str):
        raise _invalid(request, "the name of the tool is missing")
    if not isinstance(arguments, dict | None):
        raise _invalid(request, "the arguments are not an object")
    tool = toolbox.tools.get(name)
    if tool is None:
        offered = ", ".join(toolbox.tools)
        raise _invalid(request, f"there is no tool {ascii(name)[:80]} here; the tools: {offered}")
    return tool, arguments or {}


def completed(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result in the form without a handshake."""
    return {**result, "resultType": "complete", "_meta": {f"{META}serverInfo": SERVER}}


def _invalid(request: Request, message: str) -> RpcError:
    return RpcError(INVALID_PARAMS, message, id=request.id)
