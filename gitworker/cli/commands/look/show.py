"""git worker show."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.observe.workers.show_text import json_show, render_show


@click.command("show", cls=GitworkerCommand)
@worker_argument(required=False)
@click.pass_obj
def command(call: CommandLine, worker: str | None) -> None:
    """Show all details of a worker.

    Shows its task, the reason for which its work came back, branch, worktree, process, review,
    verification, conflicts, the messages to it and from it, last events, rescue refs, and the next
    command. Notes are shown whole.

    \b
      git worker show auth
    """
    call.render(call.views().show(worker), render_show, json_show)
