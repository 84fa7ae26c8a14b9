"""Projects and their repositories, as stored. Every database has the project `default`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitworker.model.project import Project, RepoConfig
    from gitworker.store.api import Reader, Row, Writer

DEFAULT = "default"  # the project of tasks that name none


def open_projects(reader: Reader) -> list[str]:
    """Return the ids of the projects that may start tasks: ACTIVE, and below their budget."""
    return [row["id"] for row in reader.rows("projects.open")]


def find_project(reader: Reader, project: str) -> Project | None:
    """Return a project, or None."""
    row = reader.row("projects.by_id", project=project)
    return None if row is None else _project(row)


def all_projects(reader: Reader) -> list[Project]:
    """Return every project by id."""
    return [_project(row) for row in reader.rows("projects.all")]


def has_targets(reader: Reader) -> bool:
    """Return whether a project has a target of notifications of its own."""
    return reader.row("projects.any_target") is not None


def find_repo_config(reader: Reader, project: str) -> RepoConfig | None:
    """Return the repository of a project as recorded, or None."""
    from gitworker.model.project import RepoConfig, RepoSourceType  # as for a project

    row = reader.row("projects.repo", project=project)
    if row is None:
        return None
    return RepoConfig(**{**row, "source_type": RepoSourceType(row["source_type"])})


def insert_project(
    writer: Writer, project: Project, repo: RepoConfig, *, sets_agents: bool = False
) -> None:
    """Insert a project and its repository; the id must be free."""
    writer.run("projects.insert", project=project.id)
    update_project(writer, project, sets_agents=sets_agents)
    update_repo_config(writer, repo)


def update_project(writer: Writer, project: Project, *, sets_agents: bool = False) -> None:
    """Record the fields of a project; the tokens that it has used stay.

    `sets_agents`: a person has set the number of agents, which then limits starts by hand, too.
    """
    writer.run(
        "projects.update",
        project=project.id, name=project.name, weight=project.credit_weight,
        status=project.status.value, budget=project.budget_limit,
        channel=project.discord_channel_id,
    )  # fmt: skip
    if sets_agents:
        agents = project.max_concurrent_agents
        writer.run("projects.set_agents", project=project.id, agents=agents)


def update_repo_config(writer: Writer, repo: RepoConfig) -> None:
    """Record the repository of a project."""
    writer.run(
        "projects.set_repo",
        repo=repo.id, project=repo.project_id, source_type=repo.source_type.value, url=repo.url,
        source_path=repo.source_path, branch=repo.default_branch, base=repo.checkout_base_path,
    )  # fmt: skip


def charge_project(writer: Writer, project: str, tokens: int) -> None:
    """Add tokens to those that a project has used."""
    writer.run("projects.charge", project=project, tokens=tokens)


def _project(row: Row) -> Project:
    from gitworker.model.project import Project, ProjectStatus  # dataclasses cost a hot verb 10 ms

    return Project(**{**row, "status": ProjectStatus(row["status"])})
