"""git worker conflicts."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, WorkerName
from gitworker.radar.radar import RadarResult
from gitworker.radar.radar_text import describe, json_conflicts, render_conflicts


@click.command("conflicts", cls=GitworkerCommand)
@click.argument("workers", nargs=-1, type=WorkerName(), metavar="[WORKER...]")
@click.pass_obj
def command(call: CommandLine, workers: tuple[str, ...]) -> None:
    """Show the branches that conflict, with their files.

    Compares branches with the target and with each other, and prints one line for each pair that
    conflicts. Without names, compares all workers that are at work, in review, approved or stale
    and have commits of their own. In memory, each is rebased onto the target and merged with the
    others; nothing is moved. The result for two commits is kept, so that a second call costs
    nothing. Pairs whose changes cannot overlap are not compared. Your own merge drivers and filters
    do not run: their files are merged as text. The exit status is 0, with or without conflicts. On
    a pipe: both names and every file, separated by tabs.

    If a new commit makes two branches conflict, both workers receive a conflict_warning on the bus
    within seconds (settings radar.*).

    \b
      git worker conflicts
      git worker conflicts auth --json
    """
    found = call.views().conflicts(workers)
    call.render(found, render_conflicts, json_conflicts)
    _report_the_rest(found)


def _report_the_rest(found: RadarResult) -> None:
    for worker in found.absent:
        output.narrate(f"{worker} is not compared: it is not at work, or has no commits of its own")
    if found.unknown:
        pairs = ", ".join(map(describe, found.unknown[:4]))
        more = len(found.unknown) - 4
        output.narrate(
            f"warning: git cannot merge {pairs}{f' and {more} more pairs' if more > 0 else ''}:"
            f" {found.verdicts.complaint}"
        )
