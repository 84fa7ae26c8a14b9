"""git worker diff."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.observe.workers.diff import json_diff, render_diff


@click.command("diff", cls=GitworkerCommand)
@worker_argument(required=False)
@click.option("--stat", is_flag=True, help="Show only the summary by file.")
@click.pass_obj
def command(call: CommandLine, worker: str | None, stat: bool) -> None:
    """Show the changes that would land.

    Shows the changes on the branch since it left the target, as git diff prints them.

    \b
      git worker diff auth --stat
    """
    found = call.service().diff(
        worker,
        stat=stat,
        color=output.wants_color() and not call.as_json,
        width=output.screen_width(),
    )
    call.render(found, render_diff, json_diff, exact=True)
