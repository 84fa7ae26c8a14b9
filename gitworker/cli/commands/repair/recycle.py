"""git worker recycle."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.service.results import worker_json


@click.command("recycle", cls=GitworkerCommand)
@worker_argument()
@click.pass_obj
def command(call: CommandLine, worker: str) -> None:
    """Make a completed worker idle.

    A landed worker has no task then. spawn and assign do this automatically. A worktree that was
    kept stays.

    \b
      git worker recycle auth
    """
    recycled = call.service().recycle(worker)
    call.show(recycled.in_words, **worker_json(recycled))
