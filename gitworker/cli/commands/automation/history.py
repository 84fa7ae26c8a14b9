"""git worker automation history."""

import click

from gitworker.automations.show import json_history, render_history
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Number, Text


@click.command("history", cls=GitworkerCommand)
@click.argument("name", type=Text())
@click.option(
    "-n", "limit", type=Number(min=1), default=20, metavar="N", help="List at most N runs."
)
@click.pass_obj
def command(call: CommandLine, name: str, limit: int) -> None:
    """List the runs of an automation, newest first.

    Shows the trigger and the outcome of each run, and why one failed or was skipped. --json adds
    the event, the output of the steps, the prompt and the answer. On a pipe the columns are
    separated by tabs and have no heading.

    \b
      git worker automation history nightly -n 5
    """
    call.render(call.service().automation_history(name, limit), render_history, json_history)
