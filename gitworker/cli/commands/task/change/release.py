"""git worker task release."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.tasks.queue.add_task import json_task_in_queue


@click.command("release", cls=GitworkerCommand)
@click.argument("task", type=TaskId())
@click.pass_obj
def command(call: CommandLine, task: str) -> None:
    """Release a task that is held back.

    The task may start again, in its order.

    \b
      git worker task release login-form
    """
    changed = call.service().hold_task(task, held=False)
    call.show(f"{changed.task} is not held back", **json_task_in_queue(changed))
