"""git worker review reopen."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import message_options, read_message
from gitworker.cli.options import GitworkerCommand, Number
from gitworker.review.comments.comment_json import json_comment


@click.command("reopen", cls=GitworkerCommand)
@click.argument("number", type=Number(min=1), metavar="N")
@message_options("The reason.")
@click.pass_obj
def command(call: CommandLine, number: int, message: str | None, file: str | None) -> None:
    """Open a comment again.

    For the reviewer, if a handled or resolved comment needs more work. The next `git worker review
    send` delivers it again.

    \b
      git worker review reopen 3 -m 'The test passes without the change'
    """
    found = call.service().reopen_comment(number, reply=read_message(message, file) or "")
    output.show(f"comment {found.id} is {found.state}", json_comment(found), as_json=call.as_json)
