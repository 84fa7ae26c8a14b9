"""git worker review resolve."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Number
from gitworker.review.comments.comment_json import json_comment


@click.command("resolve", cls=GitworkerCommand)
@click.argument("number", type=Number(min=1), metavar="N")
@click.pass_obj
def command(call: CommandLine, number: int) -> None:
    """Close a comment.

    For the reviewer. The author need not act on it any more.

    \b
      git worker review resolve 3
    """
    found = call.service().resolve_comment(number)
    output.show(f"comment {found.id} is {found.state}", json_comment(found), as_json=call.as_json)
