"""git worker automation list."""

import click

from gitworker.automations.show import json_list, render_list
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("list", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """List the automations, one row each.

    Shows the trigger, the action, the next time and the last run. On a pipe the columns are
    separated by tabs and have no heading.

    \b
      git worker automation list
    """
    call.render(call.service().list_automations(), render_list, json_list)
