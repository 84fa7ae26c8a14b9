"""Logs for the validator's tests: short notation in, JSON lines out."""

import json
from typing import Any

from gitworker.states.log.validate import validate_log

KINDS = {
    "task": "task_state_transition",
    "ws": "workstream_state_transition",
    "agent": "worker_state_transition",
    "seat": "seat_state_transition",
}
SEVERE = {
    ("task", "retrying"): "warning",
    ("task", "failed"): "error",
    ("ws", "failed"): "critical",
    ("agent", "unresponsive"): "error",
    ("agent", "error"): "error",
    ("seat", "STALE"): "warning",
    ("seat", "FAILED"): "error",
}


def line(text: str, **metadata: Any) -> str:
    """Return a log line from `kind entity from>to trigger`; keywords are its metadata."""
    kind, entity, step, trigger = text.split()
    start, end = step.split(">")
    return json.dumps(
        {
            "timestamp": "2026-01-10T14:00:00.000Z",
            "event_type": KINDS[kind],
            "severity": SEVERE.get((kind, end), "info"),
            "entity_id": entity,
            "from_state": start,
            "to_state": end,
            "trigger": trigger,
            "metadata": metadata,
        }
    )


GOOD = line("task t pending>queued scheduler_assigned")


def changed(**fields: Any) -> str:
    """Return the valid line with fields replaced; None removes a field."""
    document = {**json.loads(GOOD), **fields}
    return json.dumps({key: value for key, value in document.items() if value is not None})


PATH = {
    "queued": ("pending>queued", "scheduler_assigned"),
    "running": ("queued>running", "worker_started"),
    "validating": ("running>validating", "execution_completed"),
    "completed": ("validating>completed", "validation_passed"),
}


def task_to(entity: str, state: str, **metadata: Any) -> list[str]:
    """Return the lines that bring a new task to `state` on the shortest way."""
    written = []
    for reached, (step, trigger) in PATH.items():
        known = {
            key: value
            for key, value in metadata.items()
            if key != "worker_id" or reached == "running"
        }
        written.append(line(f"task {entity} {step} {trigger}", **known))
        if reached == state:
            break
    return written


def findings(*lines: str) -> list[str]:
    """Return the validator's findings as `number rule`."""
    return [f"{found.line_number} {found.rule}" for found in validate_log(lines)]
