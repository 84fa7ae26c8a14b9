"""The tools of one caller: their list, and calls that turn every failure into an answer."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

from gitworker import proc
from gitworker.errors import GitWorkerError, Internal, as_gitworker_error
from gitworker.mcp.rpc import encode
from gitworker.mcp.rules_hint import tool_of
from gitworker.mcp.stop import POLLIN, Cancelled, Stop
from gitworker.mcp.tool import Desk

CHUNK = 1 << 16
CALL = "--call"  # our own word: `git worker mcp --call` runs one call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gitworker.mcp.caller import Caller
    from gitworker.mcp.tool import Answer, Tool
    from gitworker.progress import Event


class Toolbox:
    """The tools that the identity of a server decides; `log` receives lines for people.

    With `in_children`, a call runs in a process of its own, so that a server of 11 MiB does not
    keep the service of another 10 to 15 MiB in memory.
    """

    __slots__ = ("_caller", "_in_children", "_log", "instructions", "tools")

    def __init__(
        self, caller: Caller, log: Callable[[str], object], *, in_children: bool = False
    ) -> None:
        if caller.is_worker:
            from gitworker.mcp.worker_tools import INSTRUCTIONS, TOOLS  # each pays for its own
        else:
            from gitworker.mcp.lead_tools import INSTRUCTIONS, TOOLS
        self._caller = caller
        self._log = log
        self._in_children = in_children
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
        self.instructions = INSTRUCTIONS.format(identity=caller.identity)

    def call(
        self, tool: Tool, arguments: dict[str, Any], stop: Stop, *, agent_pid: int | None = None
    ) -> tuple[dict[str, Any], int | None]:
        """Run a tool; return its result for the client, and the position to acknowledge.

        A failure is a result, too: the model shall read it. `agent_pid` is the agent's process, by
        default our parent: outside the agent's sandbox it is alive for every command. Raises
        Cancelled if the call was.
        """
        notices: list[str] = []
        try:
            tool.check(arguments)
        except GitWorkerError as error:
            return self._failure(tool, error, notices), None
        try:
            if self._in_children:
                waiting = stop if tool.waits(arguments) else None
                done = self._ask_child({"tool": tool.name, "arguments": arguments}, waiting)
                if "result" not in done:
                    raise Cancelled
                return done["result"], done["upto"]
            service = self._caller.service(lambda event: _note(notices, event))
            pid = os.getppid() if agent_pid is None else agent_pid
            desk = Desk(service, self._caller.identity, stop, agent_pid=pid)
            answer = tool.run(desk, arguments)
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001 - a long-running service: one call, one failure
            if tool.waits(arguments):  # a wait that was ended ends with any error
                stop.check()
            return self._failure(tool, error, notices), None
        return _result(answer, notices), answer.upto

    def acknowledge(self, upto: int | None) -> None:
        """Record that the client has read the bus up to a position; a failure is only logged."""
        if upto is None:
            return
        try:
            if self._in_children:
                self._ask_child({"upto": upto})
            else:
                self._caller.service(lambda event: None).ack(upto)
        except (GitWorkerError, OSError) as error:
            self._log(f"warning: {as_gitworker_error(error).message}")

    def _ask_child(self, request: dict[str, Any], stop: Stop | None = None) -> dict[str, Any]:
        """Let a new process run a call and return its answer; raise Internal if it has none.

        `stop` ends the waits of the call: it reads that from its input.
        """
        asked = {
            **request, "caller": self._caller.to_json(), "agent_pid": os.getppid(),
            "waits": stop is not None,
        }  # fmt: skip
        argv = [sys.executable, "-P", "-m", "gitworker", "mcp", CALL]
        pid, to_call, from_call = proc.spawn_piped(argv, env=self._caller.environment)
        out = _exchange(encode(asked), to_call, from_call, stop)
        _, status = os.waitpid(pid, 0)
        try:
            answer: dict[str, Any] = json.loads(out)
        except ValueError:
            code = os.waitstatus_to_exitcode(status)
            raise Internal(f"the process of the call ended with status {code}") from None
        return answer

    def _failure(self, tool: Tool, error: Exception, notices: list[str]) -> dict[str, Any]:
        found = as_gitworker_error(error)
        if isinstance(found, Internal):
            self._log(f"error: {tool.name}: {found.message}")
        lines = [*notices, found.message]
        if found.detail:
            lines += [f"  {line}" for line in found.detail.splitlines()]
        if found.hint:
            lines.append(f"hint: {found.hint}")
        helping = tool_of(found.hint or "", self.tools)
        if helping is not None:
            lines.append(f"tool: {helping}")
        lines.append(f"code: {found.code}")
        data = {**found.to_json(), "tool": helping}
        return _content("\n".join(lines), {"error": data}, is_error=True)


def run_call(toolbox: Toolbox, request: dict[str, Any], stop: Stop) -> dict[str, Any]:
    """Run the call that another process has asked for, and return the answer to it.

    The answer to a cancelled call has no result.
    """
    if "tool" not in request:
        toolbox.acknowledge(request["upto"])
        return {}
    tool = toolbox.tools[request["tool"]]
    try:
        result, upto = toolbox.call(
            tool, request["arguments"], stop, agent_pid=request["agent_pid"]
        )
    except Cancelled:
        return {}
    return {"result": result, "upto": upto}


def _exchange(request: bytes, to_call: int, from_call: int, stop: Stop | None) -> bytes:
    """Send a request to the process of a call and return its output; closes both descriptors."""
    import select  # built in, and not for a server that only lists its tools

    out = b""
    try:
        with suppress(BrokenPipeError):  # it has ended
            os.write(to_call, request)
        poll = select.poll()
        for fd, events in {from_call: POLLIN, **(stop.descriptors() if stop else {})}.items():
            poll.register(fd, events)
        while True:
            ready = [fd for fd, _ in poll.poll()]
            for fd in ready:
                if fd != from_call and stop is not None:
                    poll.unregister(fd)
                    to_call = _pass_stop(to_call, stop)
            if from_call in ready:
                data = os.read(from_call, CHUNK)
                if not data:
                    return out
                out += data
    finally:
        for fd in (to_call, from_call):
            if fd >= 0:
                os.close(fd)


def _pass_stop(to_call: int, stop: Stop) -> int:
    """Let the waits of a call end: close its input, after a byte if the client has cancelled it."""
    if stop.unwanted():
        with suppress(BrokenPipeError):
            os.write(to_call, b"!")
    os.close(to_call)
    return -1


def _result(answer: Answer, notices: list[str]) -> dict[str, Any]:
    data = {**answer.data, "notices": notices} if notices else answer.data
    return _content("\n".join([*notices, answer.text]), data, is_error=False)


def _content(text: str, data: dict[str, Any], *, is_error: bool) -> dict[str, Any]:
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": data,
        "isError": is_error,
    }


def _note(notices: list[str], event: Event) -> None:
    """Keep the events that a person would read as a line."""
    from gitworker.progress import Notice  # loaded with the service

    if isinstance(event, Notice):
        notices.append(event.text)
