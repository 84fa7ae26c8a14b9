"""git worker hooks uninstall."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.commands.hooks.worker_hooks import uninstall_everything
from gitworker.cli.options import GitworkerCommand


@click.command("uninstall", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """Remove the hooks, excludes and link from the repository.

    Restores git's settings and info/exclude. The state directory with its messages stays, and so do
    worktrees and branches. New commits are still published, by the next command.

    \b
      git worker hooks uninstall
    """
    session = call.open()
    uninstall_everything(session)
    call.show(
        f"removed the hooks; the state directory stays at {session.paths.root}",
        state=session.paths.root,
    )
