"""git worker review viewed."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.review.viewed_marks import json_marks


@click.command("viewed", cls=GitworkerCommand)
@worker_argument()
@click.argument("chosen", type=str, required=False, metavar="[FILE|HUNK]")
@click.option("--clear", is_flag=True, help="Clear the marks instead.")
@click.pass_obj
def command(call: CommandLine, worker: str, chosen: str | None, clear: bool) -> None:
    """Mark hunks as viewed.

    Marks a file, one hunk by the id beside its range, or all hunks of the newest round. A mark is
    valid for exactly that hunk: it survives a rebase and is lost when the hunk changes. Marks
    belong to the reviewer.

    \b
      git worker review viewed auth src/app.py
      git worker review viewed auth 1f3a9c02
      git worker review viewed auth --clear
    """
    found = call.service().mark_viewed(worker, chosen, clear=clear)
    output.show(f"{found.viewed} of {found.total} viewed", json_marks(found), as_json=call.as_json)
