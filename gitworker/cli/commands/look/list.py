"""git worker list."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.observe.workers.list import json_list, render_list


@click.command("list", cls=GitworkerCommand)
@click.option("--machine", metavar="NAME", help="Only the workers of this machine of the fleet.")
@click.pass_obj
def command(call: CommandLine, machine: str | None) -> None:
    """List the workers, one row each.

    Shows worker, state, task and branch, and for work that was sent back the reason. On a pipe the
    columns are separated by tabs and have no heading; the reason is a fifth column. --json also
    names the files, the log or the note, and the next command.

    \b
      git worker list | cut -f1,2
    """
    found = call.views().list_workers(machine=machine)
    call.render(found, render_list, json_list)
