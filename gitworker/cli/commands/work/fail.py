"""git worker fail."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text, worker_argument
from gitworker.service.results import worker_json


@click.command("fail", cls=GitworkerCommand)
@worker_argument(required=False)
@click.option("-m", "--message", type=Text(), metavar="TEXT", required=True, help="The reason.")
@click.pass_obj
def command(call: CommandLine, worker: str | None, message: str) -> None:
    """Give up a task, with a reason.

    The worker becomes FAILED and its claim is released. Branch and worktree stay until reset.
    Another worker may try the task again while it has retries left.

    \b
      git worker fail -m 'The library does not exist any more'
    """
    failed = call.service().fail(worker, reason=message)
    call.show(f"{failed.worker_id} is {failed.state}", reason=message, **worker_json(failed))
