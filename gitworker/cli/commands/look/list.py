"""git worker list."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.observe.workers.list import json_list, render_list


@click.command("list", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """List the workers, one row each.

    Shows worker, state, task, branch, and the reason for which the work was sent back. On a pipe
    the columns are separated by tabs and have no heading.

    \b
      git worker list | cut -f1,2
    """
    call.render(call.service().list_workers(), render_list, json_list)
