"""The tools of one caller: their list, and calls that turn every failure into an answer."""

from __future__ import annotations

from gitworker.errors import GitWorkerError, Internal, as_gitworker_error
from gitworker.mcp.stop import Cancelled
from gitworker.mcp.tools import Desk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gitworker.mcp.caller import Caller
    from gitworker.mcp.stop import Stop
    from gitworker.mcp.tools import Answer, Tool
    from gitworker.progress import Event

    Delivered = Callable[[], object] | None


class Toolbox:
    """The tools that the identity of a server decides; `log` receives lines for people."""

    __slots__ = ("_caller", "_log", "instructions", "tools")

    def __init__(self, caller: Caller, log: Callable[[str], object]) -> None:
        if caller.is_worker:
            from gitworker.mcp.worker_tools import INSTRUCTIONS, TOOLS  # each pays for its own
        else:
            from gitworker.mcp.lead_tools import INSTRUCTIONS, TOOLS
        self._caller = caller
        self._log = log
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
        self.instructions = INSTRUCTIONS.format(identity=caller.identity)

    def call(
        self, tool: Tool, arguments: dict[str, Any], stop: Stop
    ) -> tuple[dict[str, Any], Delivered]:
        """Run a tool and return its result for the client, and a function to call after sending.

        A failure is a result, too: the model shall read it. Raises Cancelled if the call was.
        """
        notices: list[str] = []
        try:
            service = self._caller.service(lambda event: _note(notices, event))
            answer = tool(Desk(service, self._caller.identity, stop, notices), arguments)
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001 - a long-running service: one call, one failure
            stop.check()  # the wait of a cancelled call ends with any error
            return self._failure(tool, error, notices), None
        return _result(answer, notices), answer.delivered

    def deliver(self, delivered: Delivered) -> None:
        """Run the rest of a call after its result was sent; a failure is only logged."""
        try:
            if delivered is not None:
                delivered()
        except (GitWorkerError, OSError) as error:
            self._log(f"warning: {as_gitworker_error(error).message}")

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
