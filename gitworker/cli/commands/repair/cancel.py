"""git worker cancel."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.fields import freed_text
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.service.results import freed_json


@click.command("cancel", cls=GitworkerCommand)
@worker_argument()
@click.pass_obj
def command(call: CommandLine, worker: str) -> None:
    """Cancel a worker's task and keep its work under a rescue ref.

    The task is cancelled, and the worker has none then. Branch and worktree are removed. Commits,
    uncommitted and untracked work stay reachable under the printed rescue ref, ignored files stay
    in the trash, and `git worker undo` restores everything. Refused while a process lives in the
    worktree.

    \b
      git worker cancel auth
    """
    freed = call.service().cancel(worker)
    call.show(freed_text(freed), **freed_json(freed))
