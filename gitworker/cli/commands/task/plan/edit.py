"""git worker task edit."""

from typing import Any

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.fields import field_options, read_fields
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.errors import Invalid
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.workers.task_verbs.change import json_changed_task


@click.command("edit", cls=GitworkerCommand)
@click.argument("task", type=TaskId())
@field_options
@click.pass_obj
def command(call: CommandLine, /, task: str, **options: Any) -> None:
    """Change the fields of a task.

    Only the given fields change; a list such as --test is replaced as a whole. Possible until the
    task has landed or was cancelled. An agent at work keeps the text that it has got. `task depend`
    changes dependencies.

    \b
      git worker task edit login-form --priority 1
      git worker task edit login-form -F task.md --test 'make test'
    """
    fields = read_fields(options)
    if fields == TaskFields():
        raise Invalid("no field was given", "git worker task edit -h", code="usage")
    done = call.service().edit_task(task, fields)
    call.show(f"{done.task} is changed", **json_changed_task(done))
