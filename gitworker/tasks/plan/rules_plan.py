"""The tasks of a plan: their fields, their ids, their needs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.errors import GitWorkerError, Invalid
from gitworker.model.ids import TaskId, parse_task_id, parse_workstream_id
from gitworker.model.tokens.budget import parse_tokens
from gitworker.tasks.queue.rules_fields import VERIFY_WORDS, TaskFields
from gitworker.tasks.queue.rules_needs import parse_needs
from gitworker.tasks.rules_task_id import slug_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitworker.model.task_spec import Need

TEXTS = {
    "title": "title", "text": "text", "agent": "agent", "project": "project_id",
    "workstream": "workstream_id",
}  # fmt: skip
NUMBERS = {
    "priority": "priority", "retries": "max_retries", "timeout": "timeout_s",
    "budget": "budget_tokens",
}  # fmt: skip
FLAGS = {"approval": "requires_approval", "critical": "critical"}
LISTS = {
    "test": "test_commands", "accept": "acceptance_criteria", "context": "attached_context",
    "path": "paths", "capability": "capabilities",
}  # fmt: skip
KEYS = ("id", *TEXTS, "needs", "verify", *NUMBERS, *FLAGS, *LISTS)
WORDS = {"yes": True, "true": True, "no": False, "false": False}


class PlannedTask(NamedTuple):
    """A task of a plan, and the line on which it begins.

    Without `names_needs` the plan says nothing about its needs.
    """

    line: int
    id: TaskId
    fields: TaskFields
    needs: tuple[Need, ...]
    names_needs: bool = True


def planned_task(line: int, values: Mapping[str, Any]) -> PlannedTask:
    """Return the task that the values of a plan describe; raise Invalid, which names the line.

    Without an id it is made of the title, or of the text's first line.
    """
    try:
        return _task(line, values)
    except GitWorkerError as error:
        raise at_line(line, error.message) from None


def require_unique(tasks: Iterable[PlannedTask]) -> None:
    """Raise Invalid if two tasks of a plan have the same id; letter case does not count."""
    seen: dict[str, PlannedTask] = {}
    for task in tasks:
        first = seen.setdefault(task.id.lower(), task)
        if first is not task:
            raise at_line(
                task.line, f"task {task.id} is in line {first.line} already: give it another id"
            )


def in_workstream(tasks: Iterable[PlannedTask], name: object) -> list[PlannedTask]:
    """Return the tasks in the workstream that their plan names, unless they name their own."""
    if name is None:
        return list(tasks)
    try:
        workstream = parse_workstream_id(_text("workstream", name))
    except GitWorkerError as error:
        raise at_line(1, error.message) from None
    return [
        task
        if task.fields.workstream_id is not None
        else task._replace(fields=task.fields._replace(workstream_id=workstream))
        for task in tasks
    ]


def without_ticked(tasks: Sequence[PlannedTask], ticked: Iterable[str]) -> list[PlannedTask]:
    """Return the tasks without their needs of ticked ones, which are done outside."""
    done = set(ticked)
    return [
        task._replace(needs=tuple(need for need in task.needs if need.task not in done))
        for task in tasks
    ]


def at_line(line: int, message: str) -> Invalid:
    """Return the error of one line of a plan."""
    return Invalid(f"line {line}: {message}", "git worker task import -h", code="bad_plan")


def id_of(values: Mapping[str, Any]) -> TaskId:
    """Return the id that the values give, or the one that is made of the words."""
    given = values.get("id")
    if given is not None:
        return parse_task_id(_text("id", given))
    slug = slug_of(str(values.get("title") or ""), str(values.get("text") or ""))
    if slug is None:
        raise Invalid("a task needs an id: its title has no Latin letter and no digit")
    return parse_task_id(slug)


def _task(line: int, values: Mapping[str, Any]) -> PlannedTask:
    for key in values:
        if key not in KEYS:
            raise Invalid(f"{ascii(key)[:40]} is not a field of a task: {', '.join(KEYS)}")
    fields: dict[str, Any] = {}
    for key, value in values.items():
        if value is None or key in ("id", "needs") or (key == "project" and value == ""):
            continue
        if key in TEXTS:
            fields[TEXTS[key]] = _text(key, value)
        elif key in NUMBERS:
            is_budget = key == "budget" and isinstance(value, str)
            fields[NUMBERS[key]] = parse_tokens(value) if is_budget else _number(key, value)
        elif key in FLAGS:
            fields[FLAGS[key]] = _flag(key, value)
        elif key in LISTS:
            fields[LISTS[key]] = _texts(key, value)
        else:
            fields["verification_type"] = _verify(value)
    needs = values.get("needs")
    words = [] if needs is None else _texts("needs", needs)
    found = parse_needs(words)
    return PlannedTask(line, id_of(values), TaskFields(**fields), found, needs is not None)


def _text(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and key == "id":
        return str(value)  # YAML reads an id such as 12 as a number
    raise Invalid(f"{key} must be a text")


def _texts(key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and all(type(one) in (str, int) for one in value):
        return tuple(str(one) for one in value)
    raise Invalid(f"{key} must be a text or a list of texts")


def _number(key: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 12):
        raise Invalid(f"{key} must be a whole number")
    return int(text)


def _flag(key: str, value: object) -> bool:
    if isinstance(value, str):
        value = WORDS.get(value.strip().lower())
    if not isinstance(value, bool):
        raise Invalid(f"{key} must be yes or no")
    return value


def _verify(value: object) -> object:
    if not isinstance(value, str) or value.strip() not in VERIFY_WORDS:
        raise Invalid(f"verify must be one of {', '.join(VERIFY_WORDS)}")
    return VERIFY_WORDS[value.strip()]
