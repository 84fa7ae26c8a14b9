"""git worker log."""

import click

from gitworker.cli.call import Call
from gitworker.cli.options import Verb, worker_argument
from gitworker.observe.log import DEFAULT_LIMIT, json_log, read_log, render_log


@click.command("log", cls=Verb)
@worker_argument(required=False)
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=DEFAULT_LIMIT, show_default=True,
    metavar="N", help="At most this many.",
)  # fmt: skip
@click.pass_obj
def command(call: Call, worker: str | None, limit: int) -> None:
    """Show what happened, newest last.

    Transitions and messages of every worker, or of one.

    \b
      git worker log auth -n 20
    """
    session = call.open_to_read()
    named = None if worker is None else call.worker(session, worker)
    call.render(read_log(session, named, limit=limit), render_log, json_log)
