"""git worker review comment."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import message_options
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.cli.shell.words import read_words
from gitworker.review.comments.comment_json import json_comment


@click.command("comment", cls=GitworkerCommand)
@worker_argument()
@click.argument("place", type=str, required=False, metavar="[FILE:LINE[-LINE]]")
@message_options("The comment.")
@click.option("--old", "is_old", is_flag=True, help="The lines are those before the change.")
@click.pass_obj
def command(
    call: CommandLine,
    worker: str,
    place: str | None,
    message: str | None,
    file: str | None,
    is_old: bool,
) -> None:
    """Write a comment on lines or on the whole change, as a draft.

    Lines are counted in the work that was handed in last; FILE begins at the top of the repository.
    Without -m or -F, an editor opens on a terminal. The comment is a draft, which only you see,
    until `git worker review send` delivers it. Prints its number.

    \b
      git worker review comment auth src/app.py:10-12 -m 'This needs a test'
      git worker review comment auth src/app.py:7 --old -m 'Why removed?'
      git worker review comment auth -m 'Please split the commit'
    """
    found = call.service().comment(worker, place, text=read_words(message, file), is_old=is_old)
    output.show(str(found.id), json_comment(found), as_json=call.as_json)
