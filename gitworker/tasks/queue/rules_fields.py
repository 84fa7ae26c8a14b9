"""The fields of a task that its author sets: their limits and their words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.errors import GitWorkerError, Invalid, Refused
from gitworker.model.ids import parse_workstream_id
from gitworker.model.task import VerificationType
from gitworker.tasks.agents.rules_registered import parse_capabilities
from gitworker.tasks.rules_task_text import parse_task_text

if TYPE_CHECKING:
    from collections.abc import Collection

    from gitworker.model.task_spec import TaskSpec

VERIFY_WORDS = {
    "auto": VerificationType.AUTO_TEST,
    "qa": VerificationType.QA_AGENT,
    "human": VerificationType.HUMAN,
}
NUMBER_MAX = 10**9
TOKENS_MAX = 10**15
NUMBERS = (
    ("priority", -NUMBER_MAX, NUMBER_MAX), ("max_retries", 0, NUMBER_MAX),
    ("timeout_s", 0, NUMBER_MAX), ("budget_tokens", 0, TOKENS_MAX),
)  # fmt: skip
TEXTS = ("title", "agent", "workstream_id")
LISTS = ("acceptance_criteria", "test_commands", "attached_context", "paths", "capabilities")
# The order itself and the limits of a task: the worker that carries it out does not change them.
OF_THE_ORDER = frozenset({
    "text", "acceptance_criteria", "test_commands", "verification_type", "requires_approval",
    "max_retries", "timeout_s", "budget_tokens", "project_id", "critical",
})  # fmt: skip


class TaskFields(NamedTuple):
    """Values for the fields of a task; None keeps the value that it has, or the default.

    A time limit or a budget of 0 and an empty agent mean none.
    """

    title: str | None = None
    text: str | bytes | None = None
    priority: int | None = None
    verification_type: VerificationType | None = None
    max_retries: int | None = None
    requires_approval: bool | None = None
    acceptance_criteria: tuple[str, ...] | None = None
    test_commands: tuple[str, ...] | None = None
    attached_context: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None
    timeout_s: int | None = None
    agent: str | None = None
    critical: bool | None = None
    project_id: str | None = None
    workstream_id: str | None = None
    capabilities: tuple[str, ...] | None = None
    budget_tokens: int | None = None


def with_fields(spec: TaskSpec, fields: TaskFields) -> TaskSpec:
    """Return the task with the given values; raise Invalid for a value that no task can have."""
    given = {name: value for name, value in fields._asdict().items() if value is not None}
    for name, least, most in NUMBERS:
        if name in given and not least <= given[name] <= most:
            raise Invalid(f"{_shown(name)} must be between {least} and {most}")
    for name in TEXTS:
        if name in given:
            _require_text(name, given[name])
    for name in LISTS:
        for one in given.get(name, ()):
            _require_text(name, one)
            if not one.strip():
                raise Invalid(f"{_shown(name)}: a text is empty")
    if "text" in given:
        given["text"] = parse_task_text(given["text"])
    if "capabilities" in given:
        given["capabilities"] = parse_capabilities(given["capabilities"])
    changed = spec._replace(**given)
    if changed.workstream_id:
        parse_workstream_id(changed.workstream_id)
    return changed._replace(
        timeout_s=changed.timeout_s or None,
        agent=changed.agent or None,
        workstream_id=changed.workstream_id or None,
        budget_tokens=changed.budget_tokens or None,
    )


def changed_fields(old: TaskSpec, new: TaskSpec) -> set[str]:
    """Return the names of the fields in which two descriptions of a task differ."""
    return {name for name in old._fields if getattr(old, name) != getattr(new, name)}


def own_edit_refusal(task: str, actor: str, names: Collection[str]) -> GitWorkerError | None:
    """Return why a worker cannot change these fields of the task that it has, or None."""
    if OF_THE_ORDER.isdisjoint(names):
        return None
    return Refused(
        f"worker {actor} has task {task} and cannot change its own order, tests or limits",
        code="not_allowed",
    )


def _require_text(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{_shown(name)} is not valid UTF-8") from None
    if "\0" in text:
        raise Invalid(f"{_shown(name)} has a NUL character")


def _shown(name: str) -> str:
    return name.removesuffix("_s").removesuffix("_id").replace("_", " ")
