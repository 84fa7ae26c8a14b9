"""git worker task restart."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.workers.task_verbs.change import json_changed_task


@click.command("restart", cls=GitworkerCommand)
@click.argument("task", type=TaskId())
@click.pass_obj
def command(call: CommandLine, task: str) -> None:
    """Put a task back into the queue.

    The task is ready, with all its retries. A worker that has it is freed, as by `git worker
    cancel`: its work stays under a rescue ref. A task that waits for others waits
    for them no longer. Stop a task that is in progress first; to continue with its work, use
    `git worker resume`.

    \b
      git worker task restart login-form
    """
    done = call.service().restart_task(task)
    if done.rescue and not call.as_json:
        output.narrate(f"the work of {done.worker} is kept under {done.rescue}")
    call.show(done.in_words, **json_changed_task(done))
