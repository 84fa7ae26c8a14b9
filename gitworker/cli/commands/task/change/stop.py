"""git worker task stop."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId, Text
from gitworker.workers.task_verbs.change import json_changed_task


@click.command("stop", cls=GitworkerCommand)
@click.argument("task", type=TaskId())
@click.option(
    "-m",
    "--message",
    type=Text(),
    metavar="TEXT",
    default="stopped by a person",
    help="The reason.",
)
@click.pass_obj
def command(call: CommandLine, task: str, message: str) -> None:
    """Stop work on a task.

    The task is blocked and is not tried again until `task restart` or `git worker resume`. Branch
    and worktree stay. If a supervised agent is running, it gets the order to stop, and the task is
    blocked once it has ended.

    \b
      git worker task stop login-form -m 'wrong direction'
    """
    done = call.service().stop_task(task, reason=message)
    ordered = f"the agent of {done.worker} was ordered to stop"
    call.show(ordered if done.is_ordered else done.in_words, **json_changed_task(done))
