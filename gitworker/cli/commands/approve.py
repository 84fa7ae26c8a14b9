"""git worker approve."""

import click

from gitworker.cli.call import Call
from gitworker.cli.fields import short, worker_fields
from gitworker.cli.options import Text, Verb, worker_argument
from gitworker.workers.approve import approve


@click.command("approve", cls=Verb)
@worker_argument()
@click.option("-m", "--message", type=Text(), metavar="TEXT", help="A note for the worker.")
@click.pass_obj
def command(call: Call, worker: str, message: str | None) -> None:
    """Approve a worker's branch, rebased onto the target.

    The rebase comes first and is mandatory. Where it conflicts, nothing moves: the worker is
    WORKING again, the files are named, and the status is 3. The old tip stays under a rescue ref.
    A worker cannot approve its own work. Later commits withdraw an approval.

    \b
      git worker diff auth
      git worker approve auth -m 'Good work'
    """
    approved = approve(call.open(), worker, note=message or "")
    lines = [f"{approved.worker.worker_id} is {approved.worker.state} at {short(approved.commit)}"]
    if approved.rescue_ref:
        lines += [f"before the rebase: {approved.rescue_ref}", "undo: git worker undo"]
    call.show(
        "\n".join(lines),
        **worker_fields(approved.worker),
        commit=approved.commit,
        rebased_from=approved.rebased_from,
        rescue=approved.rescue_ref,
    )
