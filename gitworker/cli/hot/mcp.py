"""`mcp` without click, which would stay in memory for as long as the server runs."""

from __future__ import annotations

import os

from gitworker.cli.output import ERR, OUT, narrate
from gitworker.mcp.caller import Caller
from gitworker.mcp.server import Server
from gitworker.mcp.toolbox import Toolbox

IN = 0


def run_mcp(words: list[str]) -> int | None:
    """Serve until standard input ends; return None if click must parse the words."""
    return serve() if not words else None


def serve() -> int:
    """Serve the caller of this process over standard input and output until the input ends."""
    toolbox = Toolbox(Caller(os.getcwd(), os.environ), narrate)
    # Programs that a tool starts, such as the user's hooks, must neither read requests nor write
    # into the answers: their standard input is empty, their output is our standard error.
    reader, writer = os.dup(IN), os.dup(OUT)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, IN)
    os.close(empty)
    os.dup2(ERR, OUT)

    def write(line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(writer, rest) :]

    Server(toolbox, write).serve(reader)
    return 0
