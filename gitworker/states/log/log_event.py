"""Build one line of `transitions.jsonl`.

This module selects the metadata of each line so that every log keeps the format's invariants: a
worker only on lines to `running`, dependencies only on lines to `queued`, times only after they are
reached.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from gitworker.model.task import LifecycleState as V
from gitworker.states.task_view import ViewLine, entity_id


class EventType(StrEnum):
    """The machine whose transition a line records."""

    TASK = "task_state_transition"
    WORKSTREAM = "workstream_state_transition"
    AGENT = "worker_state_transition"  # the log's format calls agents workers
    SEAT = "seat_state_transition"  # our workers


class Severity(StrEnum):
    """The severity of a line."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


FIELDS = (
    "timestamp",
    "event_type",
    "severity",
    "entity_id",
    "from_state",
    "to_state",
    "trigger",
    "metadata",
)

# (event type, to_state, trigger or None for any) -> severity, if it is not `info`
SEVERITIES: Mapping[tuple[EventType, str, str | None], Severity] = MappingProxyType(
    {
        (EventType.TASK, "retrying", None): Severity.WARNING,
        (EventType.TASK, "failed", None): Severity.ERROR,
        (EventType.WORKSTREAM, "failed", "critical_task_failed"): Severity.CRITICAL,
        (EventType.WORKSTREAM, "failed", "validation_failed"): Severity.ERROR,
        (EventType.AGENT, "unresponsive", None): Severity.ERROR,
        (EventType.AGENT, "error", None): Severity.ERROR,
        (EventType.AGENT, "shutdown", "max_timeout_exceeded"): Severity.ERROR,
        (EventType.SEAT, "STALE", None): Severity.WARNING,
        (EventType.SEAT, "FAILED", None): Severity.ERROR,
    }
)

# metadata key of a task line -> the states whose lines carry it; every line carries other keys
STARTED = frozenset({V.RUNNING, V.VALIDATING, V.COMPLETED, V.FAILED, V.RETRYING, V.CANCELLED})
ONLY_ON: Mapping[str, frozenset[V]] = MappingProxyType(
    {
        "worker_id": frozenset({V.RUNNING}),
        "dependencies": frozenset({V.QUEUED}),
        "started_at": STARTED,
        "completed_at": frozenset({V.COMPLETED}),
        "duration_seconds": frozenset({V.COMPLETED, V.FAILED, V.CANCELLED}),
    }
)


def severity_of(event_type: EventType, to_state: str, trigger: str) -> Severity:
    """Return the severity that the format prescribes for a transition, `info` by default."""
    for key in ((event_type, to_state, trigger), (event_type, to_state, None)):
        if key in SEVERITIES:
            return SEVERITIES[key]
    return Severity.INFO


def build_log_event(
    event_type: EventType,
    entity: str,
    *,
    timestamp: str,
    from_state: str,
    to_state: str,
    trigger: str,
    metadata: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Return one log line as a dict in the schema's field order.

    `timestamp` is ISO 8601 in UTC with milliseconds. States are spelled as in the machines; an
    agent's are written in lower case, as the format requires. Metadata that is None is left out.
    """
    if event_type == EventType.AGENT:
        from_state, to_state = from_state.lower(), to_state.lower()
    return {
        "timestamp": timestamp,
        "event_type": event_type.value,
        "severity": severity_of(event_type, to_state, trigger).value,
        "entity_id": entity,
        "from_state": str(from_state),
        "to_state": str(to_state),
        "trigger": str(trigger),
        "metadata": {key: value for key, value in (metadata or {}).items() if value is not None},
    }


def build_task_event(
    line: ViewLine, task_id: str, *, timestamp: str, facts: Mapping[str, object]
) -> dict[str, object]:
    """Return the log line for one line of the lifecycle view.

    `facts` are the task's values after the step by metadata key (`status`, `event`, `retry_count`,
    `max_retries`, `worker_id`, `dependencies`…); those that do not belong on this line are left
    out.
    """
    selected = {
        key: value
        for key, value in facts.items()
        if key not in ONLY_ON or line.to_state in ONLY_ON[key]
    }
    return build_log_event(
        EventType.TASK,
        entity_id(task_id, line.incarnation),
        timestamp=timestamp,
        from_state=line.from_state,
        to_state=line.to_state,
        trigger=line.trigger,
        metadata={"task_id": task_id, **selected, **line.metadata},
    )


def format_log_event(event: Mapping[str, object]) -> str:
    """Return the event as one line of JSON with its line feed, in ASCII."""
    return json.dumps(event, separators=(",", ":"), allow_nan=False) + "\n"
