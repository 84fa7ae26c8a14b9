"""git worker agent pause."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("pause", cls=GitworkerCommand)
@click.argument("agent", metavar="NAME")
@click.pass_obj
def command(call: CommandLine, agent: str) -> None:
    """Give an agent no more tasks.

    Its current task continues; the agent is paused once it is idle.

    \b
      git worker agent pause ada
    """
    state = call.service().change_agent(agent, is_paused=True)
    call.show(f"agent {agent} is {state.lower()}", agent=agent, state=state)
