"""git worker status."""

import click

from gitworker.cli.call import Call
from gitworker.cli.options import Verb
from gitworker.observe.status import json_status, read_status, render_status


@click.command("status", cls=Verb)
@click.pass_obj
def command(call: Call) -> None:
    """Show every worker on one screen.

    The target, every worker with its task, state, liveness and commits, what is half done, and the
    last events.

    \b
      git worker status
      git worker status --json
    """
    session, refs = call.survey()
    status = read_status(session, refs, every_subject=call.as_json)
    call.render(status, render_status, json_status)
