"""git worker project show."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.tasks.projects.read_projects import json_project, render_project


@click.command("show", cls=GitworkerCommand)
@click.argument("project", metavar="[PROJECT]", default="default")
@click.pass_obj
def command(call: CommandLine, project: str) -> None:
    """Show all details of a project.

    \b
      git worker project show web
    """
    call.render(call.service().show_project(project), render_project, json_project)
