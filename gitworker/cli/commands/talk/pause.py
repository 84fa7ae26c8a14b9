"""git worker pause."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text, worker_argument
from gitworker.service.results import ordered_json


@click.command("pause", cls=GitworkerCommand)
@worker_argument()
@click.option("-m", "--message", type=Text(), metavar="TEXT", help="The reason, for the log.")
@click.pass_obj
def command(call: CommandLine, worker: str, message: str | None) -> None:
    """Pause a worker's agent.

    The supervisor stops its processes; the heartbeat continues. `git worker continue`
    lets them run again.

    An agent without supervisor (`start` instead of `exec`) reads the command in its inbox. If the
    agent has ended, nothing is sent.

    \b
      git worker pause auth
    """
    order = call.service().order(worker, "pause", reason=message or "")
    call.show(order.text("pause"), **ordered_json(order))
