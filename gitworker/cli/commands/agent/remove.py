"""git worker agent remove."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("remove", cls=GitworkerCommand)
@click.argument("agent", metavar="NAME")
@click.pass_obj
def command(call: CommandLine, agent: str) -> None:
    """Remove an agent once its task has ended.

    An agent at work finishes its task first. Its workers, their work and its record are kept; the
    name is free again.

    \b
      git worker agent remove ada
    """
    state = call.service().change_agent(agent, is_leaving=True)
    call.show(f"agent {agent} is {state.lower()}", agent=agent, state=state)
