"""git worker task why."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.tasks.views.task_facts import json_why, render_why


@click.command("why", cls=GitworkerCommand)
@click.argument("task", type=TaskId())
@click.pass_obj
def command(call: CommandLine, task: str) -> None:
    """Say in one line why a task is not running.

    If it waits for other tasks, the line names the one that decides: one that has failed, is held
    back or does not exist, else the first one that can start. The line ends with the command that
    helps.

    \b
      git worker task why login-form
    """
    call.render(call.service().why_task(task), render_why, json_why)
