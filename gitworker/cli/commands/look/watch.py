"""git worker watch."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.live.control_room import show_grid, show_room
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.errors import Invalid


@click.command("watch", cls=GitworkerCommand)
@worker_argument(required=False)
@click.option("--all", "every_one", is_flag=True, help="Show every worker that has a task.")
@click.pass_obj
def command(call: CommandLine, worker: str | None, every_one: bool) -> None:
    """Watch a task in tmux: its agent's log above, its messages below.

    WORKER may be a task, a worker or a branch. The window is called w:TASK; an existing window is
    used again. Inside tmux it opens in your session. Elsewhere it opens in the session gitworker,
    which is attached if standard output is a terminal. With --all one window shows the logs of all
    workers that have a task. Without tmux 3.1 or later the same events are printed here, as git
    worker log --follow does.

    \b
      git worker watch login-form
      git worker watch --all
    """
    if every_one and worker is not None:
        raise Invalid("--all takes no worker", "git worker watch --all", code="usage")
    session = call.open_to_read()
    if every_one:
        show_grid(call, session)
    else:
        show_room(call, session, call.worker(session, worker))
