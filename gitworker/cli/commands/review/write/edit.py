"""git worker review edit."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import message_options
from gitworker.cli.options import GitworkerCommand, Number
from gitworker.cli.shell.words import read_words
from gitworker.review.comments.comment_json import json_comment


@click.command("edit", cls=GitworkerCommand)
@click.argument("number", type=Number(min=1), metavar="N")
@message_options("The new words.")
@click.pass_obj
def command(call: CommandLine, number: int, message: str | None, file: str | None) -> None:
    """Replace the words of a draft.

    A comment that was sent keeps its words.

    \b
      git worker review edit 3 -m 'This needs two tests'
    """
    found = call.service().edit_comment(number, text=read_words(message, file))
    output.show(f"comment {found.id} is changed", json_comment(found), as_json=call.as_json)
