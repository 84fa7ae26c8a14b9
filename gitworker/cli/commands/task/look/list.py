"""git worker task list."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.model.task import TaskStatus
from gitworker.tasks.task_list import json_tasks, render_tasks

STATUSES = [status.value.lower() for status in TaskStatus]


@click.command("list", cls=GitworkerCommand)
@click.argument(
    "statuses", nargs=-1, type=click.Choice(STATUSES, case_sensitive=False), metavar="[STATUS]..."
)
@click.option("--project", metavar="PROJECT", help="Only the tasks of this project.")
@click.pass_obj
def command(call: CommandLine, statuses: tuple[str, ...], project: str | None) -> None:
    """List the tasks, one row each, with the next command.

    Shows task, status, worker, next command, and the reason if the task has stopped or waits for
    other tasks. With STATUS, such as blocked or ready, shows only the tasks in one of these. On a
    pipe the columns are separated by tabs and have no heading.

    \b
      git worker task list
      git worker task list blocked failed
    """
    wanted = tuple(TaskStatus(status.upper()) for status in statuses)
    found = call.service().list_tasks(wanted, project=project)
    call.render(found, render_tasks, json_tasks)
