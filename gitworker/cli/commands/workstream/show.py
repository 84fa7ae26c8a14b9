"""git worker workstream show."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text
from gitworker.workstreams.show import json_view, render_view


@click.command("show", cls=GitworkerCommand)
@click.argument("workstream", type=Text())
@click.pass_obj
def command(call: CommandLine, workstream: str) -> None:
    """Show a workstream with its tasks.

    `files` is the directory with the graph of the tasks (dag.json) and the execution plan
    (plan.md), or the archive of an ended workstream.

    \b
      git worker workstream show login
    """
    call.render(call.service().show_workstream(workstream), render_view, json_view)
