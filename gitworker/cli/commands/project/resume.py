"""git worker project resume."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.model.project import ProjectStatus
from gitworker.tasks.projects.read_projects import json_project


@click.command("resume", cls=GitworkerCommand)
@click.argument("project", metavar="PROJECT")
@click.pass_obj
def command(call: CommandLine, project: str) -> None:
    """Let the tasks of a paused or archived project start.

    A project over its budget starts nothing until `project edit --budget` raises it.

    \b
      git worker project resume web
    """
    changed = call.service().set_project_status(project, ProjectStatus.ACTIVE)
    call.show(f"project {project} is {changed.project.status.lower()}", **json_project(changed))
