"""git worker attach."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.live.control_room import attach
from gitworker.cli.options import GitworkerCommand, worker_argument


@click.command("attach", cls=GitworkerCommand)
@worker_argument(required=False)
@click.pass_obj
def command(call: CommandLine, worker: str | None) -> None:
    """Switch to the tmux window of a task.

    Finds the window that watch or spawn --tmux has opened, in any session. If no window shows the
    task and an agent has run on it, opens one as watch does. Without tmux or a terminal, names the
    command that follows the agent's log.

    \b
      git worker attach login-form
    """
    session = call.open_to_read()
    attach(call, session, call.worker(session, worker))
