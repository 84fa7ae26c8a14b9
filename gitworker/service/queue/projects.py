"""The methods of the service for projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from gitworker.model.project import ProjectStatus, RepoSourceType
    from gitworker.tasks.projects.read_projects import ShownProject
    from gitworker.tasks.projects.rules_project import ProjectFields


class ProjectMethods(ServiceBase):
    """Projects: several may share this repository; see `WorkMethods` for the imports."""

    def list_projects(self) -> list[ShownProject]:
        """Return every project by id."""
        from gitworker.tasks.projects.read_projects import read_projects

        with self._reading() as session:
            return read_projects(session)

    def show_project(self, project: str) -> ShownProject:
        """Return everything about one project; raise NotFound for an unknown one."""
        from gitworker.tasks.projects.read_projects import read_project

        with self._reading() as session:
            return read_project(session, project)

    def add_project(
        self, project: str, fields: ProjectFields, *, source: RepoSourceType | None = None
    ) -> ShownProject:
        """Add a project that shares this repository; raise Refused for an id that exists."""
        from gitworker.tasks.projects.change_project import add_project
        from gitworker.tasks.projects.read_projects import read_project

        with self._acting() as session:
            add_project(session, project, fields, source=source)
            return read_project(session, project)

    def edit_project(
        self, project: str, fields: ProjectFields, *, source: RepoSourceType | None = None
    ) -> ShownProject:
        """Change the given fields of a project; a budget of 0 means none."""
        from gitworker.tasks.projects.change_project import edit_project
        from gitworker.tasks.projects.read_projects import read_project

        with self._acting() as session:
            edit_project(session, project, fields, source=source)
            return read_project(session, project)

    def set_project_status(self, project: str, status: ProjectStatus) -> ShownProject:
        """Pause, resume or archive a project; a project with open tasks is not archived."""
        from gitworker.tasks.projects.change_project import set_project_status
        from gitworker.tasks.projects.read_projects import read_project

        with self._acting() as session:
            set_project_status(session, project, status)
            return read_project(session, project)
