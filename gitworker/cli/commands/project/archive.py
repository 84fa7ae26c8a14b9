"""git worker project archive."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.model.project import ProjectStatus
from gitworker.tasks.projects.read_projects import json_project


@click.command("archive", cls=GitworkerCommand)
@click.argument("project", metavar="PROJECT")
@click.pass_obj
def command(call: CommandLine, project: str) -> None:
    """Close a project and keep its record.

    It takes no new tasks. A project with open tasks is refused: land or cancel them first. The
    project `default` cannot be archived. `project resume` opens it again.

    \b
      git worker project archive web
    """
    changed = call.service().set_project_status(project, ProjectStatus.ARCHIVED)
    call.show(f"project {project} is {changed.project.status.lower()}", **json_project(changed))
