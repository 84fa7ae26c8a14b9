"""git worker project add."""

from typing import Any

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.commands.project.fields import field_options, read_fields
from gitworker.cli.options import GitworkerCommand
from gitworker.tasks.projects.read_projects import json_project


@click.command("add", cls=GitworkerCommand)
@click.argument("project", metavar="PROJECT")
@field_options
@click.pass_obj
def command(call: CommandLine, /, project: str, **options: Any) -> None:
    """Add a project to this repository and print its name.

    A project is a set of tasks with its own weight, limits and budget. Several projects share one
    repository and its target. Tasks belong to the project `default`, unless --project of `task add`
    or the field `project:` of a plan names another one.

    \b
      git worker project add web --weight 3 --max-agents 4 --budget 2M
      git worker task add -m 'Build the login form' --project web
    """
    fields, source = read_fields(options)
    added = call.service().add_project(project, fields, source=source)
    call.show(added.project.id, **json_project(added))
