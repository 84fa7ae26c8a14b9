"""git worker agents list, which `git worker agents` runs too."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.observe.agents import json_agents, render_agents


@click.command("list", cls=GitworkerCommand)
@click.option("--all", "every_one", is_flag=True, help="Include agents that ended long ago.")
@click.pass_obj
def command(call: CommandLine, every_one: bool) -> None:
    """List the agents with their liveness, status and progress.

    LIVE shows the age of the last heartbeat: OK, WARN from 30 s on, STALE from 100 s, DEAD from 5
    min (settings liveness.*). DOING shows the status that the agent reported, `paused` for an agent
    that a cmd message paused, `gone` for a worker whose process has ended. Programs that only send
    heartbeats are listed, too.

    \b
      git worker agents
      git worker agents list --json
    """
    found = call.views().agents(include_all=every_one)
    call.render(found, render_agents, json_agents)
