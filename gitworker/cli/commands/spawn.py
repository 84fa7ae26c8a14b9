"""git worker spawn."""

import click

from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.fields import worker_fields
from gitworker.cli.options import TaskId, Text, Verb, WorkerId
from gitworker.errors import Refused
from gitworker.model import ids
from gitworker.workers.spawn import Request, spawn


@click.command("spawn", cls=Verb)
@click.argument("worker", type=WorkerId())
@click.argument("task", type=TaskId())
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
@click.option("--from", "start", metavar="REV", type=Text(), help="Begin at this commit.")
@click.option("--title", metavar="TEXT", type=Text(), default=None, help="What the task is called.")
@click.pass_obj
def command(
    call: Call,
    worker: ids.WorkerId,
    task: ids.TaskId,
    program: tuple[str, ...],
    start: str | None,
    title: str | None,
) -> None:
    """Give a worker a task: a branch, a worktree, our hooks.

    The worker is made if there is none of that name. The branch WORKER/TASK begins at the target's
    tip, or at REV; a remote branch (origin/topic) is fetched first. Standard output gets the
    worktree's path and nothing else. Whatever fails on the way is taken back.

    \b
      cd "$(git worker spawn auth login-form --title 'Build the login form')"
    """
    if program:
        raise Refused(
            "spawn cannot run a command in the new worktree",
            f'cd "$(git worker spawn {worker} {task})" && COMMAND',
            code="not_supported",
        )
    spawned = spawn(call.open(), Request(worker, task, title=title or "", start=start))
    if call.as_json:
        output.document({**worker_fields(spawned.worker), "path": spawned.path})
    else:
        output.answer_exact(spawned.path)
