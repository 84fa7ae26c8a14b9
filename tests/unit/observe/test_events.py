"""Events on frozen data: their text and JSON, and the log of them."""

from collections.abc import Mapping
from enum import StrEnum

import pytest

from gitworker.observe.logs.events import Event, event_text, json_event
from gitworker.observe.logs.log import Log, json_log, render_log
from gitworker.observe.logs.rules_events import transition_text
from gitworker.states.comment_machine import COMMENT_MACHINE
from gitworker.states.task_machine import TASK_MACHINE
from gitworker.states.worker_machine import WORKER_MACHINE

MOVE = Event(1_000, 1, "transition", "auth", "start", actor="auth", machine="worker",
             from_state="ASSIGNED", to_state="WORKING", body='{"pid": 7}')  # fmt: skip
TASK = Event(2_000, 2, "transition", "t", "AGENT_STARTED", actor="hq", machine="task",
             from_state="ASSIGNED", to_state="IN_PROGRESS")  # fmt: skip


def message(**facts: str | None) -> Event:
    """Return a message with the given fields only."""
    return Event(3_000, 3, "message", "auth", "note", **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (MOVE, "auth  not started yet → at work"),
        (TASK, "task t  assigned → in progress, by hq"),
        (MOVE._replace(body='{"reason": "timeout"}'), "auth  not started yet → at work: timeout"),
        (message(), "auth  note"),
        (message(body="{}"), "auth  note"),
        (message(to="hq", task="t", body='{"note": "a\\u001bb"}'), "auth → hq  note  t: a\\x1bb"),
        (message(body='{"x": 1}'), "auth  note: x: 1"),
        (message(body='{"note": 1}'), "auth  note: note: 1"),
        (
            message(body='{"verdict": "conflict", "subject": "Add", "files": ["a"]}')._replace(
                name="review_result"
            ),
            "auth  review_result: conflict: a",
        ),
        (
            message(
                body='{"worker": "docs", "from": "FAILED", "to": "IDLE", "event": "reset"}'
            )._replace(name="state_change"),
            "docs  failed → no task (reset), by auth",
        ),
        (message(body='{"to": 1}')._replace(name="state_change"), "auth  state_change: to: 1"),
        (message(body="no JSON\n"), "auth  note: no JSON\\n"),
        (message(body="[" * 9000 + "]" * 9000), "auth  note: " + "[" * 200),
        (message(body="[" + "1," * 500), "auth  note: [" + "1," * 99 + "1"),
        (message(body_ref="sha256-abc"), "auth  note: sha256-abc"),
    ],
)
def test_words(event: Event, text: str) -> None:
    """An event is one safe line: actor, kind, and its most informative value."""
    assert event_text(event) == text


def test_json_events() -> None:
    """Metadata and payloads are decoded if they are JSON, and kept as text otherwise."""
    assert json_event(MOVE) == {
        "at": "1970-01-01T00:00:01.000Z", "kind": "transition", "seq": 1, "machine": "worker",
        "entity": "auth", "from": "ASSIGNED", "to": "WORKING", "event": "start", "actor": "auth",
        "metadata": {"pid": 7},
    }  # fmt: skip
    assert json_event(message(to="hq", task="t", body="no JSON")) == {
        "at": "1970-01-01T00:00:03.000Z", "kind": "message", "seq": 3, "from": "auth", "to": "hq",
        "type": "note", "correlation_id": "t", "payload": "no JSON", "payload_ref": None,
    }  # fmt: skip


def test_log_lines() -> None:
    """The log has one line per event with its time, cut to the width."""
    log = Log("auth", (MOVE, TASK))
    assert render_log(log, width=None, color=False) == (
        "1970-01-01T00:00:01Z  auth  not started yet → at work\n"
        "1970-01-01T00:00:02Z  task t  assigned → in progress, by hq"
    )
    assert render_log(log, width=40, color=True).splitlines()[1] == (
        "\x1b[2m1970-01-01 00:00:02\x1b[0m  task t  assigned →…"
    )
    assert render_log(Log(None, ()), width=40, color=False) == "nothing has happened yet"
    assert [event["seq"] for event in json_log(log)["events"]] == [1, 2]


@pytest.mark.parametrize(
    ("machine", "table"),
    [("worker", WORKER_MACHINE.table), ("task", TASK_MACHINE.table),
     ("comment", COMMENT_MACHINE.table)],
)  # fmt: skip
def test_every_transition_is_in_words(
    machine: str, table: Mapping[tuple[StrEnum, StrEnum], StrEnum]
) -> None:
    """No transition has the name of a state or an event, or two equal sides."""
    for (before, event), after in table.items():
        text = transition_text(machine, before, after, event)
        left, _, right = text.partition(" → ")
        assert (left != right, text.lower(), "_" in text) == (True, text, False)
