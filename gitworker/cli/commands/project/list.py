"""git worker project list."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.tasks.projects.read_projects import json_projects, render_projects


@click.command("list", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """List the projects, one row each.

    Shows project, status, weight, agents at work and their limit, open tasks, tokens used, budget
    and name. On a pipe the columns are separated by tabs and have no heading.

    \b
      git worker project list
    """
    call.render(call.service().list_projects(), render_projects, json_projects)
