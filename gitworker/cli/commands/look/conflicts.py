"""git worker conflicts."""

import click

from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.options import Verb, WorkerName
from gitworker.model.ids import Branch, ref_of
from gitworker.radar.radar import Survey, survey
from gitworker.radar.radar_text import describe, json_conflicts, render_conflicts


@click.command("conflicts", cls=Verb)
@click.argument("workers", nargs=-1, type=WorkerName(), metavar="[WORKER...]")
@click.pass_obj
def command(call: Call, workers: tuple[str, ...]) -> None:
    """Show which branches conflict, and in which files.

    With the target and with each other, one line for each pair: of all workers that are WORKING,
    IN_REVIEW, APPROVED or STALE and have commits of their own, or of those that are named. They are
    merged in memory as they stand, nothing is moved, and what is known of two commits is kept: the
    next time it costs nothing. Pairs whose changes cannot meet are not merged. Merge programs and
    filters of your own do not run: their files are merged as text. Conflicts are no failure of
    this command: the status is 0. On a pipe: both names and every file, separated by tabs.

    A new commit that makes two branches conflict is told to both workers within seconds, by a
    conflict_warning on the bus (settings radar.*).

    \b
      git worker conflicts
      git worker conflicts auth --json
    """
    session = call.open_to_read()
    named = [call.worker(session, name) for name in workers]
    chosen = {ref_of(Branch(one.branch)) for one in named if one.branch} if workers else None
    found = survey(session, chosen=chosen)
    call.render(found, render_conflicts, json_conflicts)
    absent = {one.worker_id for one in named} - {blip.worker for blip in found.blips}
    _tell_the_rest(found, sorted(absent))


def _tell_the_rest(found: Survey, absent: list[str]) -> None:
    for worker in absent:
        output.narrate(f"{worker} is not compared: it is not at work, or has no commits of its own")
    if found.unknown:
        pairs = ", ".join(map(describe, found.unknown[:4]))
        more = len(found.unknown) - 4
        output.narrate(
            f"warning: git cannot merge {pairs}{f' and {more} more pairs' if more > 0 else ''}:"
            f" {found.verdicts.complaint}"
        )
