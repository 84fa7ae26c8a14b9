"""The events of the machines, each with the test in which the running system fires it.

`fired.txt` holds one line for each event: machine, event and test. After such a test the event must
be among the transitions of its repository; otherwise the test fails.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gitworker.model.agent import AgentEvent
from gitworker.model.task import TaskEvent
from gitworker.model.worker import WorkerEvent
from gitworker.states.comment_machine import CommentEvent

FIRED = Path(__file__).with_name("fired.txt")
SEPARATOR = " | "
EVENTS = (
    ("task", TaskEvent), ("worker", WorkerEvent), ("agent", AgentEvent), ("comment", CommentEvent),
)  # fmt: skip


class Line(NamedTuple):
    """An event of a machine, and the test that fires it."""

    machine: str
    event: str
    test: str


@cache
def lines_of(text: str) -> tuple[Line, ...]:
    """Return the lines of a table."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(Line(*line.split(SEPARATOR)) for line in lines)


def unfired(lines: Iterable[Line]) -> list[str]:
    """Return the events of all machines that no line names."""
    known = {(line.machine, line.event) for line in lines}
    return [
        f"{machine} {event.value}"
        for machine, events in EVENTS
        for event in events
        if (machine, event.value) not in known
    ]


@cache
def events_of_tests() -> dict[str, list[Line]]:
    """Return the events that each test fires."""
    found: dict[str, list[Line]] = {}
    for line in lines_of(FIRED.read_text()):
        found.setdefault(line.test, []).append(line)
    return found


def require_fired(test: str, fixtures: dict[str, Any]) -> None:
    """Fail a test of the table whose repository lacks the transition of its event."""
    for line in events_of_tests().get(test, ()):
        world = next(
            getattr(one, "world", one)
            for one in fixtures.values()
            if hasattr(getattr(one, "world", one), "query")
        )
        rows = world.query(
            "SELECT COUNT(*) FROM transitions"
            f" WHERE machine = '{line.machine}' AND event = '{line.event}'"
        )
        assert rows != [(0,)], f"{FIRED.name}: {test} does not fire {line.machine} {line.event}"
