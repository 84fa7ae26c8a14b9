"""git worker task show."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.tasks.views.show_task import json_task, render_task


@click.command("show", cls=GitworkerCommand)
@click.argument("task", type=TaskId())
@click.pass_obj
def command(call: CommandLine, task: str) -> None:
    """Show all details of a task.

    Shows every field, the worker, the tasks that it needs and that need it, and the reason why it
    is not running, with the command that helps. `show WORKER` shows the worker's side.

    \b
      git worker task show login-form
    """
    call.render(call.service().show_task(task), render_task, json_task)
