"""git worker task cancel."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.workers.task_verbs.change import json_changed_task


@click.command("cancel", cls=GitworkerCommand)
@click.argument("task", type=TaskId())
@click.pass_obj
def command(call: CommandLine, task: str) -> None:
    """Withdraw a task.

    The task is cancelled. A worker that has it is freed, as by `git worker cancel`: its work stays
    under a rescue ref, and `git worker undo` restores it. Tasks that need it cannot start;
    `task restart` puts it back into the queue.

    \b
      git worker task cancel login-form
    """
    done = call.service().cancel_task(task)
    if done.rescue and not call.as_json:
        output.narrate(f"the work of {done.worker} is kept under {done.rescue}")
    call.show(done.in_words, **json_changed_task(done))
