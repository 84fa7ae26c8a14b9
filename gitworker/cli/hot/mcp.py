"""`mcp` without click, which would stay in memory for as long as the server runs."""

from __future__ import annotations

import json
import os
import threading

from gitworker.cli.output import ERR, OUT, narrate
from gitworker.mcp.caller import Caller
from gitworker.mcp.rpc import encode
from gitworker.mcp.server import Server
from gitworker.mcp.stop import Stop
from gitworker.mcp.toolbox import CALL, CHUNK, Toolbox, run_call

IN = 0


def run_mcp(words: list[str]) -> int | None:
    """Serve until standard input ends; return None if click must parse the words."""
    if words == [CALL]:
        return answer_call()
    return serve() if not words else None


def serve() -> int:
    """Serve the caller of this process over standard input and output until the input ends."""
    toolbox = Toolbox(Caller(None, os.environ), narrate, in_children=True)
    reader, writer = _take_streams()
    Server(toolbox, lambda line: _write(writer, line)).serve(reader)
    return 0


def answer_call() -> int:
    """Run one call of a server in this process: read the request, write the result."""
    fd, writer = _take_streams()
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(fd, CHUNK)
        if not data:
            return 1  # the server has ended
        line += data
    request = json.loads(line)
    stop = Stop()
    if request["waits"]:
        threading.Thread(target=_await_stop, args=(fd, stop), daemon=True).start()
    caller = Caller.restored(request["caller"], os.environ)
    _write(writer, encode(run_call(Toolbox(caller, narrate), request, stop)))
    return 0


def _await_stop(fd: int, stop: Stop) -> None:
    """End the waits of the call at the end of its input; a byte before that cancels it."""
    stop.give(cancels=bool(os.read(fd, 1)))


def _take_streams() -> tuple[int, int]:
    """Return copies of standard input and output, and replace both."""
    # Programs that a tool starts, such as the user's hooks, must neither read requests nor write
    # into the answers: their standard input is empty, their output is our standard error.
    reader, writer = os.dup(IN), os.dup(OUT)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, IN)
    os.close(empty)
    os.dup2(ERR, OUT)
    return reader, writer


def _write(fd: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(fd, rest) :]
