"""git worker approve."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.fields import short
from gitworker.cli.options import GitworkerCommand, Text, WorkerName
from gitworker.service.results import approval_json, approved_json
from gitworker.workers.approve import Approved, NotApproved


@click.command("approve", cls=GitworkerCommand)
@click.argument("workers", nargs=-1, required=True, type=WorkerName(), metavar="WORKER...")
@click.option("-m", "--message", type=Text(), metavar="TEXT", help="A note for the worker.")
@click.pass_obj
def command(call: CommandLine, workers: tuple[str, ...], message: str | None) -> int:
    """Approve a worker's branch and rebase it onto the target.

    The rebase comes first and is mandatory. On a conflict nothing moves: the worker is WORKING
    again, the files are listed, and the exit status is 3. The old tip is kept under a rescue ref. A
    worker cannot approve its own work. Commits made after `git worker done` are approved, too, and
    the output counts them. Later commits withdraw the approval. If one of several workers cannot be
    approved, it is reported and the others are still approved; the exit status is the worst one.

    A branch that is stacked on another worker's branch is approved after that branch and rebased
    onto it.

    \b
      git worker diff auth
      git worker approve auth -m 'Good work'
    """
    results = call.service().approve(workers, note=message or "")
    if len(workers) == 1:
        (result,) = results
        if isinstance(result, NotApproved):
            raise result.error
        call.show(_text(result), **approval_json(result))
        return 0
    if call.as_json:
        output.document({"results": [approved_json(result) for result in results]})
    else:
        for result in results:
            if isinstance(result, NotApproved):
                output.complain(result.error, about=result.worker_id)
            else:
                output.answer(_text(result))
    return max(
        (result.error.status for result in results if isinstance(result, NotApproved)), default=0
    )


def _text(approved: Approved) -> str:
    lines = [f"{approved.worker.worker_id} is {approved.worker.state} at {short(approved.commit)}"]
    if approved.rescue_ref:
        lines += [f"before the rebase: {approved.rescue_ref}", "undo: git worker undo"]
    if approved.without:
        lines.append(f"without the commits of {approved.without}, which was withdrawn")
    if approved.unrequested:
        counted = f"{approved.unrequested} commit{'s' * (approved.unrequested > 1)}"
        lines.append(
            f"{counted} came after it was handed in: git worker diff {approved.worker.worker_id}"
        )
    return "\n".join(lines)
