"""git worker sync."""

import click

from gitworker.cli.call import Call
from gitworker.cli.fields import short, worker_fields
from gitworker.cli.options import Verb
from gitworker.errors import Invalid
from gitworker.workers.sync import sync


@click.command("sync", cls=Verb)
@click.option("--continue", "goes_on", is_flag=True, help="Go on after resolving conflicts.")
@click.option("--abort", is_flag=True, help="Take the stopped rebase back.")
@click.pass_obj
def command(call: Call, goes_on: bool, abort: bool) -> None:
    """Rebase my branch onto the target now.

    From the worker's worktree. This is a real git rebase: where it conflicts it stops, names the
    files and ends with status 3; resolve them, git add them, then --continue, or --abort.

    \b
      git worker sync
      git worker sync --continue
    """
    if goes_on and abort:
        raise Invalid("--continue and --abort exclude each other", code="usage")
    mode = "continue" if goes_on else "abort" if abort else "start"
    session = call.open()
    synced = sync(session, mode)
    target = session.target.removeprefix("refs/heads/")
    where = f"{synced.worker.branch} is at {short(synced.new)}"
    moved = f", before at {short(synced.old)}" if synced.new != synced.old else ", as before"
    call.show(
        f"{where}{moved} ({target} is at {short(synced.target)})",
        **worker_fields(synced.worker),
        old=synced.old,
        new=synced.new,
        target=synced.target,
    )
