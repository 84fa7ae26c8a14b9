"""git worker review drop."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Number
from gitworker.review.comments.comment_json import json_comment


@click.command("drop", cls=GitworkerCommand)
@click.argument("number", type=Number(min=1), metavar="N")
@click.pass_obj
def command(call: CommandLine, number: int) -> None:
    """Delete a draft.

    A comment that was sent is not deleted: `git worker review resolve N` closes it.

    \b
      git worker review drop 3
    """
    found = call.service().drop_comment(number)
    output.show(f"comment {found.id} is deleted", json_comment(found), as_json=call.as_json)
