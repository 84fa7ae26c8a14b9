"""git worker project pause."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.model.project import ProjectStatus
from gitworker.tasks.projects.read_projects import json_project


@click.command("pause", cls=GitworkerCommand)
@click.argument("project", metavar="PROJECT")
@click.pass_obj
def command(call: CommandLine, project: str) -> None:
    """Start no more tasks of a project.

    Agents at work continue. `project resume` lets its tasks start again.

    \b
      git worker project pause web
    """
    changed = call.service().set_project_status(project, ProjectStatus.PAUSED)
    call.show(f"project {project} is {changed.project.status.lower()}", **json_project(changed))
