"""git worker hooks uninstall."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("uninstall", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """Remove the hooks, excludes and link from the repository.

    Restores git's settings and info/exclude. The state directory with its messages stays, and so do
    worktrees and branches. The hooks of attached agents are removed too. New commits are still
    published, by the next command. Only init, hooks install, spawn and adopt install the hooks
    again.

    \b
      git worker hooks uninstall
    """
    state = call.service().uninstall_hooks()
    call.show(f"removed the hooks; the state directory stays at {state}", state=state)
