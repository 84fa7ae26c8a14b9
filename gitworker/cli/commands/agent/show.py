"""git worker agent show."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.tasks.agents.read_agents import json_agent, render_agent


@click.command("show", cls=GitworkerCommand)
@click.argument("agent", metavar="NAME")
@click.pass_obj
def command(call: CommandLine, agent: str) -> None:
    """Show all details of a registered agent.

    \b
      git worker agent show ada
    """
    call.render(call.service().show_registered(agent), render_agent, json_agent)
