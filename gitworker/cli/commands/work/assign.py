"""git worker assign."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import read_new_text, task_arguments, text_options
from gitworker.cli.options import GitworkerCommand, Text
from gitworker.model import ids
from gitworker.service.results import spawned_json


@click.command("assign", cls=GitworkerCommand)
@task_arguments
@click.option(
    "--from",
    "start",
    metavar="REV|WORKER",
    type=Text(),
    help="Begin at a commit, or at a worker's branch.",
)
@click.option("--title", metavar="TEXT", type=Text(), default=None, help="The task's title.")
@text_options
@click.pass_obj
def command(
    call: CommandLine,
    worker: ids.WorkerId,
    task: ids.TaskId | None,
    start: str | None,
    title: str | None,
    message: str | None,
    file: str | None,
) -> None:
    """Give the next task to a free worker.

    Works like spawn, for an existing worker that has no task or has landed: TASK may be left out
    if -m, -F or --title describes it. Standard output gets only the path of the new worktree.

    \b
      cd "$(git worker assign auth password-reset -F task.md)"
    """
    text = read_new_text(message, file)
    spawned = call.service().spawn(
        worker, task, title=title or "", text=text, start=start, must_exist=True
    )
    if call.as_json:
        output.document(spawned_json(spawned))
    else:
        output.answer_exact(spawned.path)
