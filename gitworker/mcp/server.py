"""The server: reads requests until its input ends, and runs each tool in a thread of its own.

One thread reads, so that a cancellation and a `ping` are heard while tools wait. The input's end
cancels the waits and lets the other calls finish.
"""

from __future__ import annotations

import threading

from gitworker.mcp.protocol import answer, chosen_tool, completed, is_stateless
from gitworker.mcp.rpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LINE_MAX_BYTES,
    RpcError,
    encode,
    is_id,
    parse_request,
    read_lines,
)
from gitworker.mcp.stop import Cancelled, Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitworker.mcp.rpc import Request
    from gitworker.mcp.toolbox import Toolbox

AT_ONCE = 16  # a client that needs more waits for the others


class Server:
    """One client's connection; `write` sends a whole line and raises OSError if it is closed."""

    def __init__(self, toolbox: Toolbox, write: Callable[[bytes], object]) -> None:
        self._toolbox = toolbox
        self._write = write
        self._lock = threading.Lock()  # of the output, and of the calls
        self._calls: dict[str | int, _Call] = {}
        self._lanes: dict[str, threading.Thread] = {}  # the last call in each
        self._threads: set[threading.Thread] = set()  # also those that still send or acknowledge
        self._is_closed = False

    def serve(self, fd: int) -> None:
        """Serve the requests from a descriptor until its end, then wait for the running calls."""
        try:
            for line in read_lines(fd):
                self._handle(line)
                if self._is_closed:
                    break
        finally:
            with self._lock:
                running = list(self._calls.values())
                threads = list(self._threads)
            for call in running:
                call.stop.give(cancels=False)
            for thread in threads:
                thread.join()

    def _handle(self, line: bytes | None) -> None:
        try:
            if line is None:
                raise RpcError(INVALID_REQUEST, f"a line is longer than {LINE_MAX_BYTES} bytes")
            request = parse_request(line)
            if request is None:
                return
            if request.id is None:
                self._notice(request)
            elif request.method == "tools/call":
                self._begin(request)
            else:
                self._respond(request.id, answer(request, self._toolbox))
        except RpcError as error:
            self._send(encode(error.to_json()))

    def _notice(self, request: Request) -> None:
        """Obey a cancellation; every other notification needs nothing."""
        id = request.params.get("requestId")
        if request.method == "notifications/cancelled" and id is not None and is_id(id):
            with self._lock:
                call = self._calls.get(id)
            if call is not None:
                call.stop.give(cancels=True)

    def _begin(self, request: Request) -> None:
        stateless = is_stateless(request)
        tool, arguments = chosen_tool(request, self._toolbox)
        assert request.id is not None
        with self._lock:
            if request.id in self._calls:
                raise RpcError(INVALID_REQUEST, "a call with this id is running", id=request.id)
            if len(self._calls) >= AT_ONCE:
                text = f"{AT_ONCE} calls are running: wait for one of them"
                raise RpcError(INVALID_REQUEST, text, id=request.id)
            before = None if tool.lane is None else self._lanes.get(tool.lane)
            call = _Call(
                lambda: self._run(request.id, call, before, stateless=stateless),
                lambda stop: self._toolbox.call(tool, arguments, stop),
            )
            self._calls[request.id] = call
            self._threads.add(call.thread)
            if tool.lane is not None:
                self._lanes[tool.lane] = call.thread
        call.thread.start()

    def _run(
        self, id: str | int | None, call: _Call, before: threading.Thread | None, *, stateless: bool
    ) -> None:
        assert id is not None
        result: dict[str, Any] | None = None
        upto = None
        try:
            if before is not None:
                before.join()
            if not call.stop.unwanted():  # else it was cancelled in the queue and never begins
                result, upto = call.work(call.stop)
        except Cancelled:
            pass
        with self._lock:  # from here on the id is free, and a cancellation comes too late
            del self._calls[id]
        if result is not None and not call.stop.unwanted():
            is_read = self._respond(id, completed(result) if stateless else result)
            if is_read:
                self._toolbox.acknowledge(upto)
        call.stop.close()
        with self._lock:
            self._threads.discard(call.thread)

    def _respond(self, id: str | int, result: dict[str, Any]) -> bool:
        try:
            line = encode({"jsonrpc": "2.0", "id": id, "result": result})
        except (TypeError, ValueError) as error:
            failure = f"the result is no JSON: {error}"
            line = encode(RpcError(INTERNAL_ERROR, failure, id=id).to_json())
        return self._send(line)

    def _send(self, line: bytes) -> bool:
        """Send one line; return whether the client could still read it."""
        with self._lock:
            if not self._is_closed:
                try:
                    self._write(line)
                except OSError:
                    self._is_closed = True
            return not self._is_closed


class _Call:
    """A running tool: its thread, its work and the signal that ends its wait."""

    __slots__ = ("stop", "thread", "work")

    def __init__(
        self, run: Callable[[], None], work: Callable[[Stop], tuple[dict[str, Any], int | None]]
    ) -> None:
        self.stop = Stop()
        self.work = work
        self.thread = threading.Thread(target=run)
