"""git worker hooks uninstall."""

import click

from gitworker.cli.call import Call
from gitworker.cli.commands.hooks.worker_hooks import uninstall_everything
from gitworker.cli.options import Verb


@click.command("uninstall", cls=Verb)
@click.pass_obj
def command(call: Call) -> None:
    """Take our hooks, excludes and link out of the repository.

    Settings and info/exclude are afterwards what they were. The state directory with its messages
    stays, and so do worktrees and branches; commits are still seen, at the next command.

    \b
      git worker hooks uninstall
    """
    session = call.open()
    uninstall_everything(session)
    call.show(
        f"our hooks are gone; the state stays in {session.paths.root}", state=session.paths.root
    )
