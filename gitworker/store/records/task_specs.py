"""The fields of a task that its author sets, as stored."""

import json

from gitworker.model.task import VerificationType
from gitworker.model.task_spec import TaskSpec
from gitworker.store.api import Reader, Writer

LISTS = ("acceptance_criteria", "test_commands", "attached_context", "paths", "capabilities")
FLAGS = ("requires_approval", "held", "critical", "is_plan_subtask")


def find_task_spec(reader: Reader, task: str) -> TaskSpec | None:
    """Return the task's fields, or None for an unknown task."""
    row = reader.row("task_specs.by_id", task=task)
    if row is None:
        return None
    values = dict(row)
    values["text"] = values.pop("description")
    values["verification_type"] = VerificationType(values["verification_type"])
    for name in LISTS:
        values[name] = tuple(json.loads(values[name]))
    for name in FLAGS:
        values[name] = bool(values[name])
    return TaskSpec(**values)


def insert_task_spec(writer: Writer, spec: TaskSpec, now: int) -> None:
    """Insert a DEFINED task; a trigger refuses an id that exists."""
    values = spec._asdict()
    values["task"] = values.pop("id")
    values["description"] = values.pop("text")
    writer.run(
        "task_specs.insert",
        **{name: _stored(value) for name, value in values.items()}, now=now,
    )  # fmt: skip


def update_task_spec(writer: Writer, spec: TaskSpec) -> None:
    """Record the fields of a task that its author may change.

    The id, the parent and the hold stay. The limit of retries stays above the count.
    """
    values = spec._asdict()
    values["task"] = values.pop("id")
    values["description"] = values.pop("text")
    for name in ("held", "parent_task_id", "is_plan_subtask"):
        del values[name]
    writer.run("task_specs.update", **{name: _stored(value) for name, value in values.items()})


def _stored(value: object) -> str | int | None:
    if isinstance(value, tuple):
        return json.dumps(value)
    assert value is None or isinstance(value, str | int), value
    return int(value) if isinstance(value, bool) else value
