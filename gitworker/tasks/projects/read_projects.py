"""project list and project show: the projects with their limits, their tasks and their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.model.project import Project, RepoConfig
from gitworker.model.tokens.prices import Cost, json_cost, parse_prices
from gitworker.observe.text import NOTHING, field_lines, listing
from gitworker.rules_text import masked_url
from gitworker.states.task_machine import status_label
from gitworker.store.records.task_queue import count_by_project
from gitworker.store.scheduling.projects import all_projects
from gitworker.store.scheduling.usage import spending_by_project
from gitworker.tasks.projects.change_project import repo_of, require_project
from gitworker.tasks.projects.rules_project import closed_by, count_at_work, count_open

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.model.task import TaskStatus
    from gitworker.session import Session
    from gitworker.store.api import Reader

HEAD = ("PROJECT", "STATUS", "WEIGHT", "AGENTS", "OPEN", "TOKENS", "BUDGET", "NAME")


class ShownProject(NamedTuple):
    """A project, the number of its tasks in each status, its repository if it is shown, its cost.

    The cost is None if nothing of it is known.
    """

    project: Project
    tasks: Mapping[TaskStatus, int]
    repo: RepoConfig | None = None
    cost: Cost | None = None


def read_projects(session: Session) -> list[ShownProject]:
    """Read every project by id."""
    with session.store.read() as reader:
        counts, costs = count_by_project(reader), _costs(session, reader)
        return [
            ShownProject(one, counts.get(one.id, {}), cost=costs.get(one.id))
            for one in all_projects(reader)
        ]


def read_project(session: Session, project: str) -> ShownProject:
    """Read one project; raise NotFound for an unknown one."""
    with session.store.read() as reader:
        found = require_project(reader, project)
        counts = count_by_project(reader).get(project, {})
        cost = _costs(session, reader).get(project)
        return ShownProject(found, counts, repo_of(session, reader, project), cost)


def render_projects(found: list[ShownProject], *, width: int | None, color: bool) -> str:
    """Return a table for a terminal; without a width, bare rows separated by tabs for scripts."""
    rows = [
        (one.project.id,
         one.project.status.value if width is None else one.project.status.lower(),
         f"{one.project.credit_weight:g}",
         f"{count_at_work(one.tasks)}/{one.project.max_concurrent_agents}",
         str(count_open(one.tasks)), str(one.project.total_tokens_used),
         str(one.project.budget_limit or NOTHING), one.project.name or NOTHING)
        for one in found
    ]  # fmt: skip
    return listing(HEAD, rows, width=width, color=color)


def render_project(found: ShownProject, *, width: int | None, color: bool) -> str:
    """Return one line for each field that has a value."""
    project, repo = found.project, found.repo
    closed = closed_by(project)
    tasks = ", ".join(f"{number} {status_label(status)}" for status, number in found.tasks.items())
    budget = f" of {project.budget_limit:,}" if project.budget_limit else ""
    lines = [
        ("project", f"{project.id}  {project.name}".rstrip()),
        ("status", project.status.lower()),
        ("closed", f"{closed.reason}: {closed.command}" if closed else ""),
        ("weight", f"{project.credit_weight:g}"),
        ("agents", f"{project.max_concurrent_agents} at once"),
        ("tokens", f"{project.total_tokens_used:,}{budget}"),
        ("cost", found.cost.text if found.cost else ""),
        ("notify", _target(project) or ""),
        ("tasks", tasks),
    ]
    if repo is not None:
        place = repo.url or repo.source_path
        lines += [
            ("repo", f"{repo.source_type} {place}, branch {repo.default_branch}"),
            ("worktrees", repo.checkout_base_path),
        ]
    return "\n".join(field_lines(lines))


def json_projects(found: list[ShownProject]) -> dict[str, Any]:
    """Return the projects as JSON data."""
    return {"projects": [json_project(one) for one in found]}


def json_project(found: ShownProject) -> dict[str, Any]:
    """Return one project as JSON data."""
    project, repo = found.project, found.repo
    closed = closed_by(project)
    fields: dict[str, Any] = {
        "project": project.id, "name": project.name, "status": project.status.value,
        "weight": project.credit_weight, "max_concurrent_agents": project.max_concurrent_agents,
        "tokens_used": project.total_tokens_used, "budget": project.budget_limit,
        **json_cost(found.cost), "notify": _target(project),
        "reason": closed.reason if closed else None, "next": closed.command if closed else None,
        "tasks": {status.value: number for status, number in found.tasks.items()},
    }  # fmt: skip
    if repo is not None:
        fields["repo"] = {
            "source": repo.source_type.value, "url": repo.url, "path": repo.source_path,
            "branch": repo.default_branch, "worktrees": repo.checkout_base_path,
        }  # fmt: skip
    return fields


def _costs(session: Session, reader: Reader) -> dict[str, Cost | None]:
    prices = parse_prices(session.settings.agents_prices)
    return {name: one.cost(prices) for name, one in spending_by_project(reader).items()}


def _target(project: Project) -> str | None:
    """Return the target of a project's notifications without its secrets, or None."""
    return masked_url(project.discord_channel_id) if project.discord_channel_id else None
