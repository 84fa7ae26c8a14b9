"""git worker msg stats."""

import click

from gitworker.cli.call import Call
from gitworker.cli.options import Verb
from gitworker.observe.bus import json_stats, read_stats, render_stats


@click.command("stats", cls=Verb)
@click.pass_obj
def command(call: Call) -> None:
    """Show how much is on the bus, and who is behind.

    The number and size of the messages; for each agent its cursor, how many messages it has not
    read, how old the oldest of them is, and on how many its handler failed for good. An agent is
    slow that reads, but has 1,000 unread messages or one of five minutes' age, or that is on its
    way to the limit `message.max_unread`.

    \b
      git worker msg stats
      git worker msg stats --json
    """
    call.render(read_stats(call.open_quickly()), render_stats, json_stats)
