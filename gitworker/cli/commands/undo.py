"""git worker undo."""

import click

from gitworker.cli.call import Call
from gitworker.cli.fields import worker_fields
from gitworker.cli.options import Verb
from gitworker.workers.undo import undo


@click.command("undo", cls=Verb)
@click.pass_obj
def command(call: Call) -> None:
    """Take the last approve, merge, cancel or reset back.

    The newest act that can be undone: an approval's rebase, the clean-up of a merge (the target
    itself never moves back), a cancel, a reset. Branch, worktree, uncommitted work and task are
    as they were. Refused where the branch has been built on since.

    \b
      git worker undo
    """
    undone = undo(call.open())
    call.show(
        f"undid {undone.kind}: {undone.message}",
        undone=undone.kind,
        message=undone.message,
        **worker_fields(undone.worker),
    )
