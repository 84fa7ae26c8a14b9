"""git worker diff."""

import click

from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.options import Verb, worker_argument
from gitworker.observe.workers.diff import json_diff, read_diff, render_diff


@click.command("diff", cls=Verb)
@worker_argument(required=False)
@click.option("--stat", is_flag=True, help="Only the summary by file.")
@click.pass_obj
def command(call: Call, worker: str | None, stat: bool) -> None:
    """Show what would land.

    What the branch changed since it left the target, as git diff prints it.

    \b
      git worker diff auth --stat
    """
    session = call.open_to_read()
    found = read_diff(
        session,
        call.worker(session, worker),
        stat=stat,
        color=output.wants_color() and not call.as_json,
        width=output.screen_width(),
    )
    call.render(found, render_diff, json_diff, exact=True)
