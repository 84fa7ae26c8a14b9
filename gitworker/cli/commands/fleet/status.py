"""git worker fleet status."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.observe.machines import json_fleet, render_fleet


@click.command("status", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """Show the machines of the fleet, and whether it can be reached.

    Shows each machine with its state (connected, silent or left), the age of its last report, and
    its number of workers. A machine is silent if it has not reported for half a minute: its workers
    are unknown, and their tasks return to the queue when their claims end.

    \b
      git worker fleet status
    """
    call.render(call.service().fleet_status(), render_fleet, json_fleet)
