"""git worker attach."""

import click

from gitworker.cli.call import Call
from gitworker.cli.live.control_room import attach
from gitworker.cli.options import Verb, worker_argument


@click.command("attach", cls=Verb)
@worker_argument(required=False)
@click.pass_obj
def command(call: Call, worker: str | None) -> None:
    """Switch to the tmux window of a task.

    Finds the window that watch or spawn --tmux has opened, in any session.

    \b
      git worker attach login-form
    """
    session = call.open_to_read()
    attach(call, session, call.worker(session, worker))
