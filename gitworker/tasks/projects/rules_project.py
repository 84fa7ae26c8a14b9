"""A project: its id, the limits of its fields, and why it starts no task. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.errors import GitWorkerError, Invalid, NotFound, Refused
from gitworker.model.ids import LOWER, WORKER_CHARS
from gitworker.model.project import Project, ProjectStatus
from gitworker.model.task import TaskStatus
from gitworker.model.tokens.budget import spent_project
from gitworker.rules_text import is_url
from gitworker.states.task_machine import has_ended
from gitworker.tasks.rules_task_list import Why

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

ID_MAX = 63
WEIGHT_MAX = 1000.0
AGENTS_MAX = 1000
TOKENS_MAX = 10**15
TEXTS = ("name", "notify")
AT_WORK = frozenset({TaskStatus.ASSIGNED, TaskStatus.IN_PROGRESS, TaskStatus.WAITING_INPUT})


class ProjectFields(NamedTuple):
    """Values for the fields of a project; None keeps the value. A budget of 0 means none."""

    name: str | None = None
    weight: float | None = None
    agents: int | None = None
    budget: int | None = None
    notify: str | None = None


def parse_project_id(text: str) -> str:
    """Return `text` as a project's id: `[a-z0-9][a-z0-9-]{0,62}`; else raise Invalid."""
    if not _is_project_id(text):
        raise Invalid(
            f"{ascii(text)[:80]} is not the name of a project: lower-case letters, digits and '-'"
            f" are allowed, a letter or digit first, {ID_MAX} at most",
            "git worker project add web",
        )
    return text


def _is_project_id(text: str) -> bool:
    return text[:1] in LOWER and WORKER_CHARS.issuperset(text) and len(text) <= ID_MAX


def with_project_fields(project: Project, fields: ProjectFields) -> Project:
    """Return the project with the given values; raise Invalid for one that it cannot have."""
    if fields.weight is not None and not 0 < fields.weight <= WEIGHT_MAX:
        raise Invalid(f"the weight must be above 0, {WEIGHT_MAX:g} at most")
    for label, number, most in (
        ("the number of agents", fields.agents, AGENTS_MAX),
        ("the budget", fields.budget, TOKENS_MAX),
    ):
        if number is not None and not 0 <= number <= most:
            raise Invalid(f"{label} must be between 0 and {most}")
    for name in TEXTS:
        text = getattr(fields, name)
        if text is not None and ("\0" in text or "\n" in text):
            raise Invalid(f"{name} must be one line")
    if fields.notify and not is_url(fields.notify):
        raise Invalid("--notify requires a URL of Apprise, such as ntfy://<host>/<topic>")
    given: dict[str, Any] = {
        "name": fields.name, "credit_weight": fields.weight,
        "max_concurrent_agents": fields.agents, "budget_limit": fields.budget,
        "discord_channel_id": fields.notify,
    }  # fmt: skip
    changed = replace(project, **{name: one for name, one in given.items() if one is not None})
    return replace(
        changed, budget_limit=changed.budget_limit or None,
        discord_channel_id=changed.discord_channel_id or None,
    )  # fmt: skip


def closed_by(project: Project) -> Why | None:
    """Return why a project starts no task, or None if it may start some."""
    if project.status is not ProjectStatus.ACTIVE:
        return Why(
            f"its project {project.id} is {project.status.lower()}",
            f"git worker project resume {project.id}",
        )
    spent = spent_project(project.id, project.total_tokens_used, project.budget_limit)
    return None if spent is None else Why(f"its {spent.words}", spent.command)


def task_refusal(
    project: str, found: Project | None, known: Collection[str]
) -> GitWorkerError | None:
    """Return why a project takes no new tasks, or None; a `found` of None is an unknown project."""
    if found is None:
        is_name = _is_project_id(project)
        return NotFound(
            f"there is no project {project if is_name else ascii(project)[:80]}:"
            f" {', '.join(sorted(known))}",
            f"git worker project add {project}" if is_name else "git worker project list",
            code="unknown_project",
        )
    if found.status is ProjectStatus.ARCHIVED:
        return Refused(
            f"project {project} is archived and takes no new tasks",
            f"git worker project resume {project}", code="project_archived",
        )  # fmt: skip
    return None


def status_refusal(
    project: str, status: ProjectStatus, counts: Mapping[TaskStatus, int], *, default: str
) -> GitWorkerError | None:
    """Return why a project cannot get a status, or None; `counts` are its tasks by status."""
    if status is not ProjectStatus.ARCHIVED:
        return None
    if project == default:
        return Refused(
            f"tasks that name no project belong to {default}, so it cannot be archived",
            f"git worker project pause {default}",
        )
    still_open = count_open(counts)
    if not still_open:
        return None
    shown = "1 open task" if still_open == 1 else f"{still_open} open tasks"
    return Refused(
        f"project {project} has {shown}; land or cancel them first",
        f"git worker task list --project {project}",
        code="project_in_use",
    )


def count_open(counts: Mapping[TaskStatus, int]) -> int:
    """Return the number of tasks that have not ended."""
    return sum(number for status, number in counts.items() if not has_ended(status))


def count_at_work(counts: Mapping[TaskStatus, int]) -> int:
    """Return the number of tasks that an agent has begun or has got."""
    return sum(number for status, number in counts.items() if status in AT_WORK)
