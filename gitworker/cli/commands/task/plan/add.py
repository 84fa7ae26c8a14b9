"""git worker task add."""

from typing import Any

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.fields import field_options, read_fields
from gitworker.cli.options import GitworkerCommand, TaskId
from gitworker.errors import Invalid
from gitworker.tasks.queue.add_task import json_task_in_queue


@click.command("add", cls=GitworkerCommand)
@click.argument("task", type=TaskId(), required=False)
@click.option("--id", "other_id", type=TaskId(), metavar="ID", help="The task's id, as TASK.")
@click.option(
    "--needs",
    multiple=True,
    metavar="TASK[:done]",
    help="Tasks that must land before, or :done be handed in; with commas, repeatable.",
)
@field_options
@click.option("--parent", type=TaskId(), metavar="TASK", help="The task that this one belongs to.")
@click.option("--held", is_flag=True, help="Hold it back until `task release`.")
@click.pass_obj
def command(
    call: CommandLine,
    /,
    task: str | None,
    other_id: str | None,
    needs: tuple[str, ...],
    parent: str | None,
    held: bool,
    **options: Any,
) -> None:
    """Add a task to the queue and print its id.

    The task is ready to start if it waits for nothing, else it waits for its dependencies.
    `task ready` shows the tasks that may start, and `spawn WORKER TASK` starts one.

    Without TASK, its id is made of the title or of the text's first line (login-form,
    login-form-2, …). The text of -m or -F is the work to do, for the agent.

    --needs login waits until login has landed. --needs login:done waits until login is handed in;
    the new task is then stacked on it. A task waits for one such task at most. A dependency that
    fails or is cancelled is never satisfied. An unknown dependency, one that was cancelled, and one
    that closes a cycle are refused.

    \b
      git worker task add -m 'Build the login form'
      git worker task add styles -m Styles --needs login-form --priority 5
      git worker task add logout -F logout.md --test 'make test'
    """
    if task is not None and other_id is not None:
        raise Invalid("TASK and --id both give an id; use one of them", code="usage")
    fields = read_fields(options)
    added = call.service().add_task(task or other_id, fields, needs=needs, held=held, parent=parent)
    call.show(added.task, **json_task_in_queue(added))
