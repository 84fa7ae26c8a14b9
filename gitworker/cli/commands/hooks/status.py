"""git worker hooks status."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.commands.hooks.worker_hooks import hook_fields, hook_text
from gitworker.cli.options import GitworkerCommand
from gitworker.repo.hooks.hook_status import status


@click.command("status", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """Show the worktrees in which the hooks are installed.

    Also lists your own hooks, and the hooks of gitworker that another program has changed.

    \b
      git worker hooks status
    """
    session = call.open_to_read()
    found = status(session.git, session.repository)
    call.show(hook_text(found), **hook_fields(found))
