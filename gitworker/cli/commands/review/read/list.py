"""git worker review list."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.review.comments.list_comments import json_comments, render_comments


@click.command("list", cls=GitworkerCommand)
@worker_argument(required=False)
@click.pass_obj
def command(call: CommandLine, worker: str | None) -> None:
    """List the comments of a review, one row each.

    Without a worker, the comments on the present tasks of all workers. READ shows whether the
    author has read a comment. The place is the present one; a comment whose lines have changed is
    outdated and keeps its first place. On a pipe the columns are separated by tabs and have no
    heading.

    \b
      git worker review list
      git worker review list auth --json
    """
    call.render(call.service().review_comments(worker), render_comments, json_comments)
