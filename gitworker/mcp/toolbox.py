"""The tools of one caller: their list, and calls that turn every failure into an answer."""

from __future__ import annotations

import json
import os
import sys

from gitworker import proc
from gitworker.errors import GitWorkerError, Internal, as_gitworker_error
from gitworker.mcp.rpc import encode
from gitworker.mcp.stop import Cancelled, Stop
from gitworker.mcp.tools import Desk

CALL = "--call"  # our own word: `git worker mcp --call` runs one call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gitworker.mcp.caller import Caller
    from gitworker.mcp.tools import Answer, Tool
    from gitworker.progress import Event


class Toolbox:
    """The tools that the identity of a server decides; `log` receives lines for people.

    With `in_children`, a call that does not wait for others runs in a process of its own, so that
    a server of 11 MiB does not keep the service of another 15 MiB in memory.
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
            if self._in_children and not tool.waits(arguments):
                done = self._ask_child({"tool": tool.name, "arguments": arguments})
                return done["result"], done["upto"]
            service = self._caller.service(lambda event: _note(notices, event))
            pid = os.getppid() if agent_pid is None else agent_pid
            desk = Desk(service, self._caller.identity, stop, agent_pid=pid)
            answer = tool.run(desk, arguments)
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001 - a long-running service: one call, one failure
            stop.check()  # the wait of a cancelled call ends with any error
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

    def _ask_child(self, request: dict[str, Any]) -> dict[str, Any]:
        """Let a new process run a call and return its answer; raise Internal if it has none."""
        asked = {**request, "caller": self._caller.to_json(), "agent_pid": os.getppid()}
        done = proc.run(
            [sys.executable, "-P", "-m", "gitworker", "mcp", CALL],
            env=self._caller.environment,
            stdin=encode(asked),
        )
        if done.err:
            self._log(done.complaint)
        try:
            answer: dict[str, Any] = json.loads(done.out)
        except ValueError:
            raise Internal(f"the process of the call ended with status {done.status}") from None
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
        lines.append(f"code: {found.code}")
        return _content("\n".join(lines), {"error": found.to_json()}, is_error=True)


def run_call(toolbox: Toolbox, request: dict[str, Any]) -> dict[str, Any]:
    """Run the call that another process has asked for, and return the answer to it."""
    if "tool" not in request:
        toolbox.acknowledge(request["upto"])
        return {}
    tool = toolbox.tools[request["tool"]]
    result, upto = toolbox.call(tool, request["arguments"], Stop(), agent_pid=request["agent_pid"])
    return {"result": result, "upto": upto}


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
