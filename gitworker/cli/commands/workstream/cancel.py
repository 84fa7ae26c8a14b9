"""git worker workstream cancel."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text
from gitworker.workstreams.show import json_view


@click.command("cancel", cls=GitworkerCommand)
@click.argument("workstream", type=Text())
@click.pass_obj
def command(call: CommandLine, workstream: str) -> None:
    """Cancel a workstream and its tasks.

    Tasks that have not ended are cancelled, as by `task cancel`: agents are stopped, work stays
    under rescue refs, and `git worker undo` restores it. Landed work stays, and so does the branch
    of the workstream if it has one. This also ends a workstream whose validation does not pass.

    \b
      git worker workstream cancel login
    """
    found = call.service().cancel_workstream(workstream)
    call.show(f"workstream {workstream} is {found.line.stored.state}", **json_view(found))
