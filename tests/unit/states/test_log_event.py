"""One line of the log: fields, severity, and metadata."""

import json

import pytest

from gitworker.model.task import LifecycleState as V
from gitworker.states.log.log_event import (
    EventType,
    build_log_event,
    build_task_event,
    format_log_event,
    severity_of,
)
from gitworker.states.task_view import ViewLine

AT = "2026-01-10T14:00:00.000Z"
FACTS = {
    "status": "IN_PROGRESS",
    "event": "AGENT_STARTED",
    "retry_count": 0,
    "max_retries": 3,
    "worker_id": "auth",
    "dependencies": ["base"],
    "created_at": AT,
    "started_at": AT,
    "completed_at": AT,
    "duration_seconds": 4,
    "workstream_id": None,
}


def test_line_has_the_fields_of_the_schema_in_order() -> None:
    """A line has the documented fields, on one line, in ASCII."""
    event = build_log_event(
        EventType.SEAT,
        "auth",
        timestamp=AT,
        from_state="IDLE",
        to_state="ASSIGNED",
        trigger="assign",
        metadata={"task_id": "é", "nothing": None},
    )
    assert format_log_event(event) == (
        '{"timestamp":"2026-01-10T14:00:00.000Z","event_type":"seat_state_transition",'
        '"severity":"info","entity_id":"auth","from_state":"IDLE","to_state":"ASSIGNED",'
        '"trigger":"assign","metadata":{"task_id":"\\u00e9"}}\n'
    )


def test_agents_are_lower_case() -> None:
    """The states of an agent are logged in lower case."""
    event = build_log_event(
        EventType.AGENT,
        "auth",
        timestamp=AT,
        from_state="BUSY",
        to_state="UNRESPONSIVE",
        trigger="health_check_timeout",
    )
    assert event["event_type"] == "worker_state_transition"
    assert (event["from_state"], event["to_state"]) == ("busy", "unresponsive")
    assert event["severity"] == "error"
    assert event["metadata"] == {}


@pytest.mark.parametrize(
    ("to_state", "kept"),
    [
        ("queued", {"dependencies"}),
        ("running", {"worker_id", "started_at"}),
        ("validating", {"started_at"}),
        ("retrying", {"started_at"}),
        ("completed", {"started_at", "completed_at", "duration_seconds"}),
        ("failed", {"started_at", "duration_seconds"}),
        ("cancelled", {"started_at", "duration_seconds"}),
    ],
)
def test_metadata_is_written_while_it_holds(to_state: str, kept: set[str]) -> None:
    """A task line names a worker only when running, dependencies only when queued, and so on."""
    start = {"queued": "pending", "running": "queued", "completed": "validating"}
    line = ViewLine(2, V(start.get(to_state, "running")), V(to_state), {"waived": "dependencies"})
    event = build_task_event(line, "t", timestamp=AT, facts=FACTS)
    everywhere = {"task_id", "status", "event", "retry_count", "max_retries", "created_at"}
    assert event["entity_id"] == "t#2"
    assert event["trigger"] == line.trigger
    assert set(event["metadata"]) == everywhere | kept | {"waived"}  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("event_type", "to_state", "trigger", "severity"),
    [
        ("task_state_transition", "retrying", "execution_failed", "warning"),
        ("task_state_transition", "failed", "execution_failed", "error"),
        ("task_state_transition", "failed", "validation_failed", "error"),
        ("task_state_transition", "completed", "validation_passed", "info"),
        ("workstream_state_transition", "failed", "critical_task_failed", "critical"),
        ("workstream_state_transition", "failed", "validation_failed", "error"),
        ("worker_state_transition", "unresponsive", "health_check_timeout", "error"),
        ("worker_state_transition", "error", "launch_failed", "error"),
        ("worker_state_transition", "shutdown", "max_timeout_exceeded", "error"),
        ("worker_state_transition", "shutdown", "shutdown_requested", "info"),
        ("seat_state_transition", "STALE", "heartbeat_timeout", "warning"),
        ("seat_state_transition", "FAILED", "fail", "error"),
        ("seat_state_transition", "IDLE", "reset", "info"),
    ],
)
def test_severity(event_type: str, to_state: str, trigger: str, severity: str) -> None:
    """Retrying warns, failing is an error, a failed critical task is critical."""
    assert severity_of(EventType(event_type), to_state, trigger) == severity


def test_nan_never_reaches_the_log() -> None:
    """A value that JSON cannot express is refused and not written."""
    with pytest.raises(ValueError, match="JSON"):
        format_log_event({"metadata": {"duration_seconds": float("nan")}})
    assert json.loads(format_log_event({"a": 1})) == {"a": 1}
