"""git worker task list."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Number
from gitworker.model.task import TaskStatus
from gitworker.tasks.task_list import PAGE, json_tasks, render_tasks

STATUSES = [status.value.lower() for status in TaskStatus]


@click.command("list", cls=GitworkerCommand)
@click.argument(
    "statuses", nargs=-1, type=click.Choice(STATUSES, case_sensitive=False), metavar="[STATUS]..."
)
@click.option("--project", metavar="PROJECT", help="Only the tasks of this project.")
@click.option(
    "-n", "--limit", type=Number(min=1), metavar="N",
    help=f"List at most N tasks.  [default: {PAGE} on a terminal, else all]",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="List all tasks on a terminal, too.")
@click.pass_obj
def command(
    call: CommandLine,
    statuses: tuple[str, ...],
    *,
    project: str | None,
    limit: int | None,
    every: bool,
) -> None:
    """List the tasks, one row each, with the next command.

    Shows task, status, worker, next command, and the reason if the task has stopped or waits for
    other tasks. With STATUS, such as blocked or ready, shows only the tasks in one of these. Tasks
    that wait for a person come first, then those at work, those to come, and those that have ended;
    in each status the last change comes first. A terminal shows a long list in git's pager. On a
    pipe the columns are separated by tabs and have no heading.

    \b
      git worker task list
      git worker task list blocked failed
      git worker task list completed -n 10
    """
    wanted = tuple(TaskStatus(status.upper()) for status in statuses)
    if limit is None and not every and not call.as_json and output.is_terminal(output.OUT):
        limit = PAGE
    found = call.service().list_tasks(wanted, project=project, limit=limit)
    call.render(found, render_tasks, json_tasks, pages=True)
