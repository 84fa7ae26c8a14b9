"""git worker reset."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.fields import freed_text
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.service.results import freed_json


@click.command("reset", cls=GitworkerCommand)
@worker_argument()
@click.pass_obj
def command(call: CommandLine, worker: str) -> None:
    """Reset a failed worker for a new task and keep its work.

    The worker has no task then. Branch and worktree are removed. Commits, uncommitted and untracked
    work stay reachable under the printed rescue ref, ignored files stay in the trash, and `git
    worker undo` restores everything. Refused while a process lives in the worktree.

    \b
      git worker reset auth
    """
    freed = call.service().reset(worker)
    call.show(freed_text(freed), **freed_json(freed))
