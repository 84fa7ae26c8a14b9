"""git worker msg stats."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.observe.bus import json_stats, render_stats


@click.command("stats", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """Show the size of the bus and the agents that lag behind.

    Shows the number and size of the messages and, for each agent, its cursor, its unread messages,
    the age of the oldest one, and the number of messages that its handler failed to handle for
    good. An agent is slow if it reads, but has 1,000 unread messages or one that is five minutes
    old, or if it approaches the limit `message.max_unread`.

    \b
      git worker msg stats
      git worker msg stats --json
    """
    call.render(call.service().bus_stats(), render_stats, json_stats)
