"""The parts of a tool: its declaration, its answer, and the desk from which it reaches the service.

A tool works for the identity of its desk. No argument names another caller.
"""

from __future__ import annotations

from gitworker.mcp.rules_arguments import check_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gitworker.mcp.stop import Stop
    from gitworker.service import Service

    Schema = Mapping[str, Any]
    Run = Callable[["Desk", dict[str, Any]], "Answer"]

TEXT_MAX = 60_000  # characters: about the most that a client passes to its model
CUT = "\n… cut: {left} more characters"


class Answer:
    """The result of a tool as text and as JSON.

    `upto` is the position on the bus that the caller has read once the result was sent.
    """

    __slots__ = ("data", "text", "upto")

    def __init__(self, text: str, data: dict[str, Any], *, upto: int | None = None) -> None:
        self.text = text
        self.data = data
        self.upto = upto


class Desk:
    """One call: the service for the caller, the signal that ends its waits, the agent's process."""

    __slots__ = ("agent_pid", "identity", "service", "stop")

    def __init__(self, service: Service, identity: str, stop: Stop, *, agent_pid: int) -> None:
        self.service = service
        self.identity = identity
        self.stop = stop
        self.agent_pid = agent_pid


class Tool:
    """A tool: its declaration and the function that runs it.

    The calls of a server in one `lane` run one after the other, in their order. `waiting` is the
    argument with the seconds that a call may wait, and its default.
    """

    __slots__ = ("description", "lane", "name", "reads", "run", "schema", "waiting")

    def __init__(
        self,
        name: str,
        run: Run,
        description: str,
        *,
        reads: bool = False,
        lane: str | None = None,
        waiting: tuple[str, float] | None = None,
        required: tuple[str, ...] = (),
        **parameters: Schema,
    ) -> None:
        self.name = name
        self.run = run
        self.description = description
        self.reads = reads
        self.lane = lane
        self.waiting = waiting
        self.schema = {
            "type": "object",
            "properties": {one.rstrip("_"): parameter for one, parameter in parameters.items()},
            "required": list(required),
            "additionalProperties": False,
        }

    def declaration(self) -> dict[str, Any]:
        """Return the tool as `tools/list` shows it."""
        hints = {"readOnlyHint": self.reads, "openWorldHint": False}
        if not self.reads:
            hints["destructiveHint"] = False
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": hints,
        }

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raise Invalid for wrong arguments."""
        check_arguments(self.name, self.schema, arguments)

    def waits(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call with these arguments, which are right, may wait for others."""
        return self.waiting is not None and arguments.get(*self.waiting) > 0


def text(description: str, *, empty: bool = False) -> Schema:
    """Return the schema of a text."""
    return {"type": "string", "description": description} | ({} if empty else {"minLength": 1})


def choice(description: str, *values: str) -> Schema:
    """Return the schema of one of several words."""
    return {"type": "string", "description": description, "enum": list(values)}


def number(description: str, low: float, high: float) -> Schema:
    """Return the schema of a number between two limits."""
    return {"type": "number", "description": description, "minimum": low, "maximum": high}


def integer(description: str) -> Schema:
    """Return the schema of a positive integer."""
    return {"type": "integer", "description": description, "minimum": 1}


def flag(description: str) -> Schema:
    """Return the schema of a truth value."""
    return {"type": "boolean", "description": description}


def texts(description: str, *, least: int = 0) -> Schema:
    """Return the schema of a list of at least so many texts."""
    items = {"type": "string", "minLength": 1}
    return {"type": "array", "description": description, "items": items, "minItems": least}


def as_json(result: Any) -> Any:
    """Return a result of the service as JSON data."""
    from gitworker.service.results import to_json  # 20 ms, for the first tool only

    return to_json(result)


def shortened(text: str) -> str:
    """Return a text with at most as many characters as an answer may have, and a note if cut."""
    left = len(text) - TEXT_MAX
    return text if left <= 0 else text[:TEXT_MAX] + CUT.format(left=left)
