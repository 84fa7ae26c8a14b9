"""git worker undo."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Number
from gitworker.errors import Invalid
from gitworker.service.results_repair import undo_json

SHOWN = 20


@click.command("undo", cls=GitworkerCommand)
@click.argument("number", required=False, type=Number(min=1), metavar="[N]")
@click.option("-l", "--list", "listing", is_flag=True, help="List the recorded operations.")
@click.option(
    "-n", "--limit", type=Number(min=1), metavar="N",
    help=f"With --list: show at most N operations.  [default: {SHOWN}]",
)  # fmt: skip
@click.pass_obj
def command(call: CommandLine, number: int | None, listing: bool, limit: int | None) -> None:
    """Undo the last approve, merge, cancel, reset, adopt or gc.

    Without a number, undoes your newest operation that can be undone. Newer ones that can never be
    undone (they were pushed, or later work builds on them) are skipped, one line each with the
    reason. If you can repair the cause, for example a file in the way, nothing is skipped: the
    error names the command that helps. Nor is anything skipped to undo an older landing, or an
    operation of another caller: the error names its number. --list numbers all of them and shows
    age, operation, workers, caller, rescue ref, and whether it can be undone now; on a pipe the
    columns are separated by tabs and have no heading. The worker returns to its state before the
    operation. A landing is undone as a whole: the target moves back over all work of the same
    fast-forward, its checkout with it, and the workers are APPROVED again, with branch, worktree
    and uncommitted work as before. This is refused once other work has landed or was committed on
    top, a remote has it, or another worker's branch begins there; the error then suggests `git
    revert` with the commits. The removal of one landed worktree can be undone by its own number. An
    adoption can be undone until its worker has begun. After a gc, the rescue refs can be restored
    as long as git keeps their commits. A stop is not undone: `git worker resume` takes the work up.
    The cancel or skip of a queued task is not undone either, and undo refuses to pass over a recent
    one: `git worker task restart` takes it back.

    \b
      git worker undo
      git worker undo --list
      git worker undo 17
    """
    if listing:
        if number is not None:
            raise Invalid("--list takes no number", f"git worker undo {number}", code="usage")
        from gitworker.cli.commands.repair.undo_list import json_records, render_records

        records = call.service().undo_records(limit=limit or SHOWN)
        call.render(records, render_records, json_records)
        return
    if limit is not None:
        raise Invalid("-n requires --list", f"git worker undo --list -n {limit}", code="usage")
    undone = call.service().undo(number)
    for one in undone.skipped:
        output.narrate(one.words)
    call.show(f"undid {undone.kind}: {undone.message}", **undo_json(undone))
