"""git worker fleet leave."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.fleet.leave import json_left


@click.command("leave", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """Leave the fleet, and keep a copy of all that it has here.

    The last machine goes on by itself with all open work. If others stay, this machine's workers
    must have no tasks, and the open tasks are held here, since the others go on with them.

    \b
      git worker fleet leave
    """
    left = call.service().leave_fleet()
    note = (
        "the others go on; the open tasks are held here" if left.others_stay else "it was the last"
    )
    call.show(f"{left.machine} has left the fleet: {note}", **json_left(left))
