"""Use a server by the MCP SDK and print the results as JSON; `.peers` has the interpreter for it.

Arguments: `auto` or `legacy` (with a handshake), the server's directory. The SDK checks every
answer against the schema of the protocol.
"""

import asyncio
import json
import os
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError


async def main(mode: str, directory: str) -> dict[str, Any]:
    """List the tools; call one, an unknown one, two at once; cancel one; call the last."""
    server = StdioServerParameters(
        command="git-worker", args=["mcp"], cwd=directory, env=dict(os.environ)
    )
    found: dict[str, Any] = {}
    async with Client(server, mode=mode) as client:
        found["version"] = client.protocol_version
        found["instructions"] = client.instructions
        found["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        me = await client.call_tool("whoami", {})
        found["whoami"] = [me.is_error, me.structured_content["identity"], me.content[0].text]
        wrong = await client.call_tool("whoami", {"worker": "ui"})
        found["wrong"] = [wrong.is_error, wrong.structured_content["error"]["code"]]
        try:
            await client.call_tool("approve", {})
        except MCPError as error:
            found["foreign"] = error.error.code
        await client.call_tool("inbox", {})
        try:
            await client.call_tool("inbox", {"wait_s": 60}, read_timeout_seconds=0.5)
        except MCPError as error:
            found["cancelled"] = error.error.code
        both = await asyncio.gather(
            client.call_tool("progress", {"progress": 0.5}),
            client.call_tool("commit", {"message": "By the SDK"}),
        )
        found["both"] = [one.is_error for one in both]
    return found


print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
