"""git worker workstream list."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.workstreams.show import json_list, render_list


@click.command("list", cls=GitworkerCommand)
@click.option("-a", "--all", "every", is_flag=True, help="Include archived workstreams.")
@click.pass_obj
def command(call: CommandLine, every: bool) -> None:
    """List the workstreams, one row each.

    Shows the state, the completed tasks, the time since the first task started, and the tasks by
    status. --json adds retries, tokens and times. On a pipe the columns are separated by tabs and
    have no heading.

    \b
      git worker workstream list --all
    """
    call.render(call.service().list_workstreams(every=every), render_list, json_list)
