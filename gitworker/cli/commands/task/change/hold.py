"""git worker task hold."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.tasks.queue.add_task import json_task_in_queue


@click.command("hold", cls=GitworkerCommand)
@click.argument("task", type=TaskId())
@click.pass_obj
def command(call: CommandLine, task: str) -> None:
    """Keep a task from being started.

    The task stays in the queue, and no command starts it until `task release`. A task at work
    continues; if it fails, it is not started again.

    \b
      git worker task hold login-form
    """
    changed = call.service().hold_task(task, held=True)
    call.show(f"{changed.task} is held back", **json_task_in_queue(changed))
