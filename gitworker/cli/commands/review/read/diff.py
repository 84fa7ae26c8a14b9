"""git worker review diff."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text, worker_argument
from gitworker.errors import Invalid
from gitworker.review.compare import json_comparison, render_comparison


@click.command("diff", cls=GitworkerCommand)
@worker_argument()
@click.option(
    "--since-my-last-look", "since_look", is_flag=True,
    help="Compare with the version that you saw last.  [default]",
)  # fmt: skip
@click.option("--round", "rounds", type=Text(), metavar="N..M", help="Compare two rounds.")
@click.pass_obj
def command(call: CommandLine, worker: str, since_look: bool, rounds: str | None) -> None:
    """Show the changes between two rounds of a review.

    Each hand-in is a round. git range-diff compares the commits, and those that are equal are left
    out: a rebase alone shows nothing. --round N compares with the newest round. A look is a
    `git worker review WORKER` that printed the page as text.

    \b
      git worker review diff auth --since-my-last-look
      git worker review diff auth --round 1..2
    """
    if since_look and rounds is not None:
        raise Invalid(
            "--since-my-last-look and --round exclude each other", "git worker review diff -h",
            code="usage",
        )  # fmt: skip
    found = call.service().compare_rounds(worker, rounds)
    call.render(found, render_comparison, json_comparison, exact=True, pages=True)
