"""git worker continue."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text, worker_argument
from gitworker.service.results import ordered_json


@click.command("continue", cls=GitworkerCommand)
@worker_argument()
@click.option("-m", "--message", type=Text(), metavar="TEXT", help="The reason, for the log.")
@click.pass_obj
def command(call: CommandLine, worker: str, message: str | None) -> None:
    """Let a paused agent run again.

    This also continues an agent that has stopped itself.

    An agent without supervisor (`start` instead of `exec`) reads the command in its inbox. If the
    agent has ended, nothing is sent.

    \b
      git worker continue auth
    """
    order = call.service().order(worker, "resume", reason=message or "")
    call.show(order.text("continue"), **ordered_json(order))
