"""git worker doctor."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.fsck.doctor import json_doctor, render_doctor


@click.command("doctor", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> int:
    """Check this repository and suggest repairs.

    Changes nothing. Prints one line for each finding, with the command that helps. The exit status
    is 1 if a check failed. Works as far as possible on a damaged database, too.

    \b
      git worker doctor
    """
    found = call.service().doctor()
    call.render(found, render_doctor, json_doctor)
    return 0 if found.is_healthy else 1
