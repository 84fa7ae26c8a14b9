"""git worker task text."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.tasks.task_text import json_task_text


@click.command("text", cls=GitworkerCommand)
@click.argument("task", required=False)
@click.pass_obj
def command(call: CommandLine, task: str | None) -> None:
    """Print the text of a task.

    The text is the work to do, as spawn -m or -F recorded it. Without TASK it is the task of the
    worktree's worker. TASK can also be a worker or a branch. Prints the text with exactly one line
    feed added if its last line has none; --json has the exact text, and the title.

    \b
      git worker task text
      git worker task text login-form --json
    """
    found = call.service().task_text(task)
    if call.as_json:
        output.document(json_task_text(found))
    elif found.text:
        output.answer_exact(found.text.removesuffix("\n"))
