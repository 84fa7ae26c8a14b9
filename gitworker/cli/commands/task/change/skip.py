"""git worker task skip."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.workers.task_verbs.change import json_changed_task


@click.command("skip", cls=GitworkerCommand)
@click.argument("task", type=TaskId())
@click.pass_obj
def command(call: CommandLine, task: str) -> None:
    """Record a failed task as completed without its work.

    Possible for a failed or blocked task. Tasks that wait for it may start. Branch and worktree of
    its worker stay as they are.

    \b
      git worker task skip login-form
    """
    done = call.service().skip_task(task)
    call.show(done.in_words, **json_changed_task(done))
