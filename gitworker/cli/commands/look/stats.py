"""git worker stats."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.tasks.views.stats import GROUPS, json_stats, render_stats


@click.command("stats", cls=GitworkerCommand)
@click.option(
    "--by", type=click.Choice(GROUPS), default="task", show_default=True, help="Group the runs."
)
@click.pass_obj
def command(call: CommandLine, by: str) -> None:
    """Show the runs of agents with their time, tokens and cost.

    Retries are the runs of a task after its first. The time includes runs in progress. A command
    of your own reports no tokens. A cost that an agent reports counts; that of other tokens follows
    from the setting agents.prices, and is marked by `~`. On a pipe the columns are separated by
    tabs, without a heading and without the sum.

    \b
      git worker stats --by agent
    """
    call.render(call.service().stats(by), render_stats, json_stats)
