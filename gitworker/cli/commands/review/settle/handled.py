"""git worker review handled."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import message_options, read_message
from gitworker.cli.options import GitworkerCommand, Number, Text
from gitworker.review.comments.comment_json import json_comment


@click.command("handled", cls=GitworkerCommand)
@click.argument("number", type=Number(min=1), metavar="N")
@message_options("The answer to the reviewer.")
@click.option(
    "--commit", type=Text(), metavar="REV",
    help="The commit that handles it.  [default: the newest new one on the branch]",
)  # fmt: skip
@click.pass_obj
def command(
    call: CommandLine, number: int, message: str | None, file: str | None, commit: str | None
) -> None:
    """Record that you have dealt with a comment.

    For the author of the work. The commit is recorded with the comment; if no commit was
    made since the comment was sent, -m gives the answer. A rebased commit is not new. With -m on a
    handled comment, the answer is replaced.

    \b
      git worker review handled 3
      git worker review handled 4 -m 'The test exists already: test_login'
    """
    answer = read_message(message, file) or ""
    found = call.service().handle_comment(number, answer=answer, commit=commit)
    output.show(f"comment {found.id} is {found.state}", json_comment(found), as_json=call.as_json)
