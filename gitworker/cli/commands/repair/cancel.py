"""git worker cancel."""

import click

from gitworker.cli.call import Call
from gitworker.cli.fields import freed_text, worker_fields
from gitworker.cli.options import Verb, worker_argument
from gitworker.workers.cancel import cancel


@click.command("cancel", cls=Verb)
@worker_argument()
@click.pass_obj
def command(call: Call, worker: str) -> None:
    """Withdraw a worker's task; its work is kept under a rescue ref.

    The task becomes CANCELLED and the worker IDLE. Branch and worktree go; commits, uncommitted and
    untracked work stay reachable under the rescue ref that is printed, ignored files in the trash,
    and `git worker undo` brings everything back. Refused while a process lives in the worktree.

    \b
      git worker cancel auth
    """
    freed = cancel(call.open(), worker)
    call.show(
        freed_text(freed),
        **worker_fields(freed.worker),
        freed_task=freed.task_id,
        rescue=freed.rescue_ref,
        stacked=list(freed.stacked),
        missing=freed.missing,
    )
