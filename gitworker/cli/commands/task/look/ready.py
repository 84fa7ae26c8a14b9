"""git worker task ready."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Number
from gitworker.tasks.queue.ready import json_ready, render_ready


@click.command("ready", cls=GitworkerCommand)
@click.option(
    "-n",
    "limit",
    type=Number(min=1),
    default=50,
    metavar="N",
    help="Show at most N tasks; default: 50.",
)
@click.pass_obj
def command(call: CommandLine, limit: int) -> None:
    """List the tasks that may start now, in their order.

    A task may start if it is ready, not held back, and waits for no other task. Lower priority
    numbers come first, then older tasks, then their order in the plan. On a pipe the columns (task,
    priority, age, title) are separated by tabs and have no heading.

    \b
      git worker task ready
      git worker task ready -n 1 | cut -f 1
    """
    call.render(call.service().ready_tasks(limit), render_ready, json_ready)
