"""git worker task depend."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.tasks.queue.add_task import json_task_in_queue


@click.command("depend", cls=GitworkerCommand)
@click.argument("task", type=TaskId())
@click.option(
    "--on",
    "needs",
    multiple=True,
    required=True,
    metavar="TASK[:done]",
    help="A task that must land before, or :done be handed in; repeatable.",
)
@click.option("--drop", is_flag=True, help="Remove these dependencies instead.")
@click.pass_obj
def command(call: CommandLine, task: str, needs: tuple[str, ...], drop: bool) -> None:
    """Let a task wait for other tasks.

    Possible until the task has started. A dependency that closes a cycle is refused, and the cycle
    is named. Prints the tasks that it still waits for, one each line.

    \b
      git worker task depend styles --on login-form
      git worker task depend styles --on login-form:done
      git worker task depend styles --on login-form --drop
    """
    changed = call.service().depend(task, needs, drop=drop)
    call.show("\n".join(need.task for need in changed.waits_for), **json_task_in_queue(changed))
