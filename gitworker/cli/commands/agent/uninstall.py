"""git worker agent uninstall."""

import os

import click

from gitworker.agents.hooks.rules_settings import AGENTS
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("uninstall", cls=GitworkerCommand)
@click.argument("agent", type=click.Choice(list(AGENTS)))
@click.option("--user", is_flag=True, help="Remove them from your own settings.")
@click.pass_obj
def command(call: CommandLine, agent: str, *, user: bool) -> None:
    """Remove our hooks from a coding agent's settings.

    Restores each file byte for byte as it was before the installation. From a file that was changed
    since then, only our entries are removed. Prints the changed files.

    \b
      git worker agent uninstall claude
    """
    done = call.service().detach_agent(agent, user=os.environ if user else None)
    call.show("\n".join(done.files), agent=agent, files=list(done.files))
