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

    Retries are the runs of a task after its first. The time includes runs in progress. Agents
    report tokens and cost at the end of a run; a command of your own reports none. On a pipe the
    columns are separated by tabs, without a heading and without the sum.

    \b
      git worker stats --by agent
    """
    call.render(call.service().stats(by), render_stats, json_stats)
