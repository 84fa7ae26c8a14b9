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
@click.option("--take-parent", "takes", is_flag=True, help="Keep the parent's commits as mine.")
@click.pass_obj
def command(call: Call, goes_on: bool, abort: bool, takes: bool) -> None:
    """Rebase my branch onto the target now.

    From the worker's worktree. This is a real git rebase: where it conflicts it stops, names the
    files and ends with status 3; resolve them, git add them, then --continue, or --abort.

    A branch that was started on another worker's (spawn --from) goes onto that branch as it is
    now, and onto the target once that has landed or was cancelled; only its own commits go there.
    With --take-parent all its commits go to the target, and it waits for nobody from then on.

    \b
      git worker sync
      git worker sync --continue
    """
    if goes_on + abort + takes > 1:
        raise Invalid("--continue, --abort and --take-parent exclude each other", code="usage")
    mode = "continue" if goes_on else "abort" if abort else "take" if takes else "start"
    session = call.open()
    synced = sync(session, mode)
    target = synced.parent or session.target.removeprefix("refs/heads/")
    where = f"{synced.worker.branch} is at {short(synced.new)}"
    moved = f", before at {short(synced.old)}" if synced.new != synced.old else ", as before"
    call.show(
        f"{where}{moved} ({target} is at {short(synced.target)})",
        **worker_fields(synced.worker),
        old=synced.old,
        new=synced.new,
        target=synced.target,
        parent=synced.parent,
    )
