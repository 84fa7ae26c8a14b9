"""git worker ui."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.live.terminal_screens import show_screens
from gitworker.cli.options import GitworkerCommand, worker_argument


@click.command("ui", cls=GitworkerCommand)
@worker_argument(required=False)
@click.pass_obj
def command(call: CommandLine, worker: str | None) -> None:
    """Show the board, inbox, tasks, reviews and queue in the terminal.

    The screens show every worker by what it needs, and change with the repository. Their keys are
    the commands of this program: comment, approve, reject, land, undo, reply, pause and others,
    recorded as the person of git's user.name. With WORKER the review of its work is shown first.

    Press ? for the keys of each screen, Ctrl+P for all commands by name, and q to quit. The colours
    are those of the terminal; NO_COLOR leaves them out.

    The screens need `pip install 'gitworker[ui]'`; without it, `git worker status --watch` shows
    the workers. `git worker web` shows the same in a browser.

    \b
      git worker ui
      git worker ui auth
    """
    show_screens(call, worker)
