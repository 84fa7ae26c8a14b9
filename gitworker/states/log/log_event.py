"""One line of `transitions.jsonl`, in seed 3's event schema.

Which metadata goes on which line is decided here, so that seed 3's invariants hold for every log
written through this module: a worker only on lines to `running`, dependencies only on lines to
`queued`, times only once they are reached.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from gitworker.model.task import LifecycleState as V
from gitworker.states.task_view import Line, entity_id


class EventType(StrEnum):
    """Whose transition a line tells."""

    TASK = "task_state_transition"
    WORKSTREAM = "workstream_state_transition"
    AGENT = "worker_state_transition"  # what seed 3 calls worker
    SEAT = "seat_state_transition"  # seed 1's worker


class Severity(StrEnum):
    """How much a line matters."""

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

# (event type, to_state, trigger or None for any) -> severity, where it is not `info`
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

# metadata key of a task line -> the states whose lines carry it; other keys go on every line
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
    """Return how much a transition matters, as seed 3 prescribes; `info` where it says nothing."""
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

    `timestamp` is ISO 8601 in UTC with milliseconds. States go in as the machines spell them;
    the agent's are written in lower case, as seed 3 does. Metadata that is None is left out.
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
    line: Line, task_id: str, *, timestamp: str, facts: Mapping[str, object]
) -> dict[str, object]:
    """Return the log line for one line of the lifecycle view.

    `facts` is what is known of the task after the step, by metadata key (`status`, `event`,
    `retry_count`, `max_retries`, `worker_id`, `dependencies`…); those that do not belong on this
    line are left out.
    """
    belongs = {
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
        metadata={"task_id": task_id, **belongs, **line.metadata},
    )


def format_log_event(event: Mapping[str, object]) -> str:
    """Return the event as one line of JSON with its line feed, in ASCII."""
    return json.dumps(event, separators=(",", ":"), allow_nan=False) + "\n"
