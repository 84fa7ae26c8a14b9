"""git worker agent list."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.tasks.agents.read_agents import json_agents, render_agents


@click.command("list", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """List the registered agents, one row each.

    Shows agent, type, state, tasks at work and their limit, tokens used and capabilities. On a pipe
    the columns are separated by tabs and have no heading. `git worker agents` lists the agents that
    are at work.

    \b
      git worker agent list
    """
    call.render(call.service().list_registered(), render_agents, json_agents)
