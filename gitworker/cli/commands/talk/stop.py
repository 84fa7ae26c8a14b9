"""git worker stop."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text, worker_argument
from gitworker.service.results import ordered_json


@click.command("stop", cls=GitworkerCommand)
@worker_argument()
@click.option("-m", "--message", type=Text(), metavar="TEXT", help="The reason, for the log.")
@click.pass_obj
def command(call: CommandLine, worker: str, message: str | None) -> None:
    """Stop a worker's agent.

    The supervisor ends the agent by TERM, and by KILL after agent.stop_grace_s. The worker becomes
    FAILED with the reason; branch, worktree and files stay as they are.

    A supervisor that waits for the next round of its agent, or for the end of a limit, ends, too.
    An agent without supervisor (`start` instead of `exec`) reads the command in its inbox. If the
    agent has ended, also with an earlier boot of the machine, nothing is sent.

    \b
      git worker stop auth
    """
    order = call.service().order(worker, "stop", reason=message or "")
    call.show(order.text("stop"), **ordered_json(order))
