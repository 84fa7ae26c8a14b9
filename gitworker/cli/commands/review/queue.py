"""git worker queue."""

from collections.abc import Collection

import click

from gitworker import clock
from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.review.merge import run_merge
from gitworker.cli.live.live import ViewWaker
from gitworker.cli.options import GitworkerCommand
from gitworker.errors import GitWorkerError
from gitworker.landing.queue_status import json_lineup
from gitworker.landing.queue_text import render_lineup
from gitworker.model.outcome import Landed, NotLanded
from gitworker.service.results import landed_json

EVERY_S = 60.0  # how often the queue looks at the latest, and retries a worker that could not land


@click.command("queue", cls=GitworkerCommand)
@click.option("--watch", is_flag=True, help="Land approved work as it arrives, until Ctrl-C.")
@click.pass_obj
def command(call: CommandLine, watch: bool) -> int:
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
        return _watch(call)
    call.render(call.service().queue(), render_lineup, json_lineup)
    return 0


def _watch(call: CommandLine) -> int:
    """Land approved work on every change; retry a worker that could not land after a while."""
    held: dict[str, int] = {}
    with ViewWaker(call.open()) as lookout:
        while not lookout.is_over:
            now_ms = clock.monotonic_ms()
            held = {name: until_ms for name, until_ms in held.items() if until_ms > now_ms}
            try:
                results = _land_some(call, held.keys())
            except GitWorkerError as error:  # for example a remote that cannot be reached now
                output.complain(error)
                results = []
            held |= {
                result.worker_id: now_ms + int(EVERY_S * 1000)
                for result in results
                if isinstance(result, NotLanded)
            }
            if not results:
                lookout.wait(EVERY_S)
    return 0


def _land_some(call: CommandLine, skip: Collection[str]) -> list[Landed | NotLanded]:
    """Land one window with the current settings and print the results."""
    results = run_merge(call, [], everything=True, skip=skip, windows=1, is_unattended=True)
    if call.as_json:
        for result in results:
            output.document(landed_json(result))
    return results
