"""git worker reset."""

import click

from gitworker.cli.call import Call
from gitworker.cli.fields import freed_text, worker_fields
from gitworker.cli.options import Verb, worker_argument
from gitworker.workers.cancel import reset


@click.command("reset", cls=Verb)
@worker_argument()
@click.pass_obj
def command(call: Call, worker: str) -> None:
    """Clear a failed worker for a new task; its work is kept.

    FAILED becomes IDLE. Branch and worktree go; commits, uncommitted and untracked work stay
    reachable under the rescue ref that is printed, ignored files in the trash, and
    `git worker undo` brings everything back. Refused while a process lives in the worktree.

    \b
      git worker reset auth
    """
    freed = reset(call.open(), worker)
    call.show(
        freed_text(freed),
        **worker_fields(freed.worker),
        freed_task=freed.task_id,
        rescue=freed.rescue_ref,
        stacked=list(freed.stacked),
        missing=freed.missing,
    )
