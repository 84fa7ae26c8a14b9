"""git worker queue."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.live.landing_results import LandingProgress
from gitworker.cli.live.reader import pause_for_reader, require_reader
from gitworker.cli.options import GitworkerCommand
from gitworker.landing.queue_status import json_lineup
from gitworker.landing.queue_text import render_lineup
from gitworker.service.live.methods import LandingStopped
from gitworker.service.results import landed_json


@click.command("queue", cls=GitworkerCommand)
@click.option("--watch", is_flag=True, help="Land approved work as it arrives, until Ctrl-C.")
@click.pass_obj
def command(call: CommandLine, watch: bool) -> None:
    """Show the landing queue and its verdicts.

    The queue is ordered by priority (a lower number first), minus a point for each minute of
    waiting, plus ten for each time that the work was returned. A task never comes before a task
    that it depends on. The newest windows follow, with the verdict on each prefix that was
    verified.

    --watch runs the queue: the command stays and lands approved work, as `merge --all` does. A
    landing that was undone is not repeated: it waits for `git worker merge WORKER`. With --json
    --watch prints a line for each worker that landed or did not.

    \b
      git worker queue
      git worker queue --watch
    """
    if watch:
        _watch(call)
    else:
        call.render(call.views().queue(), render_lineup, json_lineup)


def _watch(call: CommandLine) -> None:
    """Show each result of a queue that runs until its reader ends it."""
    with LandingProgress(as_json=call.as_json) as progress:
        for result in call.service(progress).watch_queue(pause=pause_for_reader()):
            progress.require_shown([])
            if result is None:
                require_reader()
            elif isinstance(result, LandingStopped):
                progress.clear()
                output.complain(result.error)
            elif call.as_json:
                output.document(landed_json(result))
