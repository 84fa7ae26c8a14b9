"""git worker agent resume."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("resume", cls=GitworkerCommand)
@click.argument("agent", metavar="NAME")
@click.pass_obj
def command(call: CommandLine, agent: str) -> None:
    """Let a paused or failed agent take tasks again.

    An agent that could not start, or whose credentials were refused, stays in the state ERROR until
    then.

    \b
      git worker agent resume ada
    """
    state = call.service().change_agent(agent)
    call.show(f"agent {agent} is {state.lower()}", agent=agent, state=state)
