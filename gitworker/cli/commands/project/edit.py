"""git worker project edit."""

from typing import Any

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.commands.project.fields import field_options, read_fields
from gitworker.cli.options import GitworkerCommand
from gitworker.errors import Invalid
from gitworker.tasks.projects.read_projects import json_project
from gitworker.tasks.projects.rules_project import ProjectFields


@click.command("edit", cls=GitworkerCommand)
@click.argument("project", metavar="PROJECT")
@field_options
@click.pass_obj
def command(call: CommandLine, /, project: str, **options: Any) -> None:
    """Change the weight, the limits or the budget of a project.

    Only the given fields change. Agents at work continue. The project of tasks that name none is
    `default`.

    \b
      git worker project edit web --budget 5M
      git worker project edit default --max-agents 8
    """
    fields, source = read_fields(options)
    if fields == ProjectFields() and source is None:
        raise Invalid("no field was given", "git worker project edit -h", code="usage")
    changed = call.service().edit_project(project, fields, source=source)
    call.show(f"project {project} is changed", **json_project(changed))
