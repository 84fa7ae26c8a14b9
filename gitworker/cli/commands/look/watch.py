"""git worker watch."""

import click

from gitworker.cli.call import Call
from gitworker.cli.live.control_room import show_grid, show_room
from gitworker.cli.options import Verb, worker_argument
from gitworker.errors import Invalid


@click.command("watch", cls=Verb)
@worker_argument(required=False)
@click.option("--all", "everybody", is_flag=True, help="Every worker that has something to do.")
@click.pass_obj
def command(call: Call, worker: str | None, everybody: bool) -> None:
    """Watch a task in tmux: its agent's log above, its messages below.

    WORKER may be a task, a worker or a branch. The window is called w:TASK; where there is one, it
    is used again. Inside tmux it opens in the session you are in, elsewhere in the session
    gitworker, which is attached where standard output is a terminal. With --all one window
    shows the logs of all workers that have something to do. Without tmux 3.1 or later the
    same is told here, as git worker log --follow does.

    \b
      git worker watch login-form
      git worker watch --all
    """
    if everybody and worker is not None:
        raise Invalid("--all shows every worker; name none", "git worker watch --all", code="usage")
    session = call.open_to_read()
    if everybody:
        show_grid(call, session)
    else:
        show_room(call, session, call.worker(session, worker))
