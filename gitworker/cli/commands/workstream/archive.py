"""git worker workstream archive."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text


@click.command("archive", cls=GitworkerCommand)
@click.argument("workstream", type=Text())
@click.pass_obj
def command(call: CommandLine, workstream: str) -> None:
    """Write the archive of an ended workstream and print its path.

    The archive has the tasks, the graph, the metrics and the transitions. It is written when the
    workstream ends; this command writes it again, for example after a task was restarted.

    \b
      git worker workstream archive login
    """
    path = call.service().archive_workstream(workstream)
    call.show(path, workstream=workstream, path=path)
