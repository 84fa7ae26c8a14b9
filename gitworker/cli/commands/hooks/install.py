"""git worker hooks install."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.rules_text import count_text


@click.command("install", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """Install the hooks in every worker's worktree.

    spawn does this for each new worktree. The main checkout and your own hooks do not change; your
    hooks keep running, in the worktrees, too.

    \b
      git worker hooks install
    """
    tops = call.service().install_hooks()
    call.show(f"the hooks are installed in {count_text(len(tops), 'worktree')}", worktrees=tops)
