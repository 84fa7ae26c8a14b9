"""git worker hooks status."""

import click

from gitworker.cli.call import Call
from gitworker.cli.commands.hooks.worker_hooks import hook_fields, hook_text
from gitworker.cli.options import Verb
from gitworker.repo.hooks.hook_status import status


@click.command("status", cls=Verb)
@click.pass_obj
def command(call: Call) -> None:
    """Show in which worktrees our hooks fire.

    Also which hooks of the user's there are, and whether anybody changed ours.

    \b
      git worker hooks status
    """
    session = call.open_to_read()
    found = status(session.git, session.repository)
    call.show(hook_text(found), **hook_fields(found))
