"""Parse one line of a transition log: well-formed JSON, the format's fields, typed metadata."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from gitworker.states.log.log_event import FIELDS, EventType, Severity

WAIVERS = frozenset({"dependencies", "verification"})


@dataclass(frozen=True, slots=True)
class LogFinding:
    """One rule that one line breaks."""

    line_number: int
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line with valid fields; `at` is its time."""

    number: int
    at: datetime
    event_type: EventType
    severity: Severity
    entity: str
    from_state: str
    to_state: str
    trigger: str
    metadata: Mapping[str, object]

    def int_of(self, key: str) -> int | None:
        """Return an integer from the metadata, or None."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) else None

    def text_of(self, key: str) -> str | None:
        """Return a string from the metadata, or None."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def time_of(self, key: str) -> datetime | None:
        """Return a time from the metadata, or None."""
        text = self.text_of(key)
        return None if text is None else find_instant(text)

    def names_of(self, key: str) -> frozenset[str]:
        """Return the ids of a list in the metadata; empty if there is no list."""
        value = self.metadata.get(key)
        return frozenset(value) if isinstance(value, list) else frozenset()


def parse_entry(number: int, text: str) -> LogLine | list[LogFinding]:
    """Return the line's content, or the findings about its form."""
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return [LogFinding(number, "json", f"not well-formed JSON: {error}")]
    if not isinstance(document, dict):
        return [LogFinding(number, "json", "not a JSON object")]
    faults = [LogFinding(number, "schema", fault) for fault in _faults(document)]
    if faults:
        return faults
    return LogLine(
        number=number,
        at=datetime.fromisoformat(document["timestamp"]),
        event_type=EventType(document["event_type"]),
        severity=Severity(document["severity"]),
        entity=document["entity_id"],
        from_state=document["from_state"],
        to_state=document["to_state"],
        trigger=document["trigger"],
        metadata=document["metadata"],
    )


def find_instant(text: str) -> datetime | None:
    """Return the time of an ISO 8601 text with a time zone, else None."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else None


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _faults(document: dict[str, object]) -> list[str]:
    missing = [f"the field {name!r} is missing" for name in FIELDS if name not in document]
    if missing:
        return missing
    faults = [
        f"{name} is not a string"
        for name in ("event_type", "severity", "entity_id", "from_state", "to_state", "trigger")
        if not (isinstance(document[name], str) and document[name])
    ]
    if not _is_time(document["timestamp"]):
        faults.append("timestamp is not ISO 8601 with a time zone")
    for name, known in (("event_type", EventType), ("severity", Severity)):
        if isinstance(document[name], str) and document[name] not in list(known):
            faults.append(f"{name} {document[name]!r} is unknown")
    metadata = document["metadata"]
    if not isinstance(metadata, dict):
        return [*faults, "metadata is not an object"]
    return faults + [
        f"metadata.{key} is not {METADATA[key][1]}"
        for key, value in metadata.items()
        if key in METADATA and value is not None and not METADATA[key][0](value)
    ]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_time(value: object) -> bool:
    return isinstance(value, str) and find_instant(value) is not None


def _is_id_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_waiver(value: object) -> bool:
    return isinstance(value, str) and value in WAIVERS


# The metadata that rules read, with its type. Every key is optional and null counts as absent;
# other keys are ignored.
METADATA: Mapping[str, tuple[Callable[[object], bool], str]] = MappingProxyType(
    {
        "task_id": (_is_text, "a string"),
        "status": (_is_text, "a string"),
        "event": (_is_text, "a string"),
        "retry_count": (_is_count, "an integer, 0 or more"),
        "max_retries": (_is_count, "an integer, 0 or more"),
        "worker_id": (_is_text, "a string"),
        "workstream_id": (_is_text, "a string"),
        "critical": (_is_flag, "true or false"),
        "dependencies": (_is_id_list, "a list of task ids"),
        "waived": (_is_waiver, "'dependencies' or 'verification'"),
        "next_incarnation": (_is_count, "an integer, 0 or more"),
        "created_at": (_is_time, "an ISO 8601 time with a time zone"),
        "started_at": (_is_time, "an ISO 8601 time with a time zone"),
        "completed_at": (_is_time, "an ISO 8601 time with a time zone"),
        "duration_seconds": (_is_amount, "a number, 0 or more"),
        "dropped": (_is_id_list, "a list of task ids"),
        "task_count": (_is_count, "an integer, 0 or more"),
        "max_concurrent_tasks": (_is_count, "an integer, 0 or more"),
    }
)
