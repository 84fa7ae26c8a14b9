"""git worker agents."""

import click

from gitworker.cli.call import Call
from gitworker.cli.options import Verb
from gitworker.observe.agents import json_agents, read_agents, render_agents


@click.command("agents", cls=Verb)
@click.option("--all", "every_one", is_flag=True, help="Those that ended long ago as well.")
@click.pass_obj
def command(call: Call, every_one: bool) -> None:
    """List who is alive, doing what, with what progress.

    LIVE tells how long ago the last beat was: OK, WARN from 30 s on, STALE from 100 s, DEAD from
    5 min (settings liveness.*). DOING is what the agent told with it, `paused` for one that was
    stopped by a cmd message, `gone` for a worker whose process has ended. Programs that only beat
    are listed too.

    \b
      git worker agents
      git worker agents --json
    """
    found = read_agents(call.settle(create=False)[0], every_one=every_one)
    call.render(found, render_agents, json_agents)
