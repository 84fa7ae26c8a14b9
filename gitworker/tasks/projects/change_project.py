"""project add, edit, pause, resume and archive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gitworker.bus.limits.rules_secrets import redacted
from gitworker.errors import NotFound, Refused
from gitworker.model.project import Project, ProjectStatus, RepoConfig, RepoSourceType
from gitworker.session import require_person
from gitworker.store.records.task_queue import count_by_project
from gitworker.store.scheduling.projects import (
    DEFAULT,
    all_projects,
    find_project,
    find_repo_config,
    insert_project,
    update_project,
    update_repo_config,
)
from gitworker.tasks.projects.rules_project import (
    ProjectFields,
    parse_project_id,
    status_refusal,
    task_refusal,
    with_project_fields,
)

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Reader

LIST = "git worker project list"


def add_project(
    session: Session,
    project: str,
    fields: ProjectFields,
    *,
    source: RepoSourceType | None = None,
) -> Project:
    """Add a project that shares this repository, and record where the repository came from.

    Raises Invalid for a bad id or value, Refused for an id that exists, and for a worker.
    """
    require_person(session, "projects", LIST)
    new = with_project_fields(Project(parse_project_id(project), ""), fields)
    with session.store.write() as writer:
        if find_project(writer, new.id) is not None:
            raise Refused(
                f"project {new.id} exists already", f"git worker project show {new.id}",
                code="project_exists",
            )  # fmt: skip
        repo = _repo_config(session, new.id, source)
        insert_project(writer, new, repo, sets_agents=fields.agents is not None)
    return new


def edit_project(
    session: Session,
    project: str,
    fields: ProjectFields,
    *,
    source: RepoSourceType | None = None,
) -> Project:
    """Change the given fields of a project.

    Raises as `add_project`, and NotFound for an unknown one.
    """
    require_person(session, "projects", LIST)
    with session.store.write() as writer:
        changed = with_project_fields(require_project(writer, project), fields)
        update_project(writer, changed, sets_agents=fields.agents is not None)
        if source is not None:
            update_repo_config(writer, _repo_config(session, project, source))
    return changed


def set_project_status(session: Session, project: str, status: ProjectStatus) -> Project:
    """Pause, resume or archive a project. Agents at work continue.

    Raises NotFound for an unknown project; Refused for a worker, and to archive a project that has
    open tasks.
    """
    require_person(session, "projects", LIST)
    with session.store.write() as writer:
        changed = replace(require_project(writer, project), status=status)
        counts = count_by_project(writer).get(project, {})
        refusal = status_refusal(project, status, counts, default=DEFAULT)
        if refusal is not None:
            raise refusal
        update_project(writer, changed)
    return changed


def require_project(reader: Reader, project: str) -> Project:
    """Return a project; raise NotFound for an unknown one."""
    found = find_project(reader, project)
    if found is None:
        raise NotFound(
            f"there is no project {ascii(project)[:80]}", LIST,
            code="unknown_project",
        )  # fmt: skip
    return found


def require_takes_tasks(reader: Reader, project: str) -> None:
    """Raise NotFound for an unknown project, Refused for one that is archived."""
    found = find_project(reader, project)
    known = [one.id for one in all_projects(reader)] if found is None else []
    refusal = task_refusal(project, found, known)
    if refusal is not None:
        raise refusal


def repo_of(session: Session, reader: Reader, project: str) -> RepoConfig:
    """Return the repository of a project as recorded; by default as git describes it."""
    recorded = find_repo_config(reader, project)
    if recorded is not None and (recorded.url or recorded.source_path):
        return recorded
    return _repo_config(session, project, None)


def _repo_config(session: Session, project: str, source: RepoSourceType | None) -> RepoConfig:
    """Return the facts of this repository; with a remote it was cloned, unless `source` differs."""
    remote = session.settings.merge_remote or "origin"
    url = redacted(session.git_config.get(f"remote.{remote}.url", ""))
    found = source or (RepoSourceType.CLONE if url else RepoSourceType.LINK)
    is_clone = found is RepoSourceType.CLONE
    return RepoConfig(
        project, project, found, url=url if is_clone else "",
        source_path="" if is_clone else session.main_top, default_branch=session.target_name,
        checkout_base_path=session.worktree_root,
    )  # fmt: skip
