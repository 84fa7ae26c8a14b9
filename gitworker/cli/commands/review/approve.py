"""git worker approve."""

from collections.abc import Sequence

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.fields import left_out_text, short
from gitworker.cli.options import GitworkerCommand, Text, WorkerName
from gitworker.cli.output_progress import ProgressLine
from gitworker.errors import Invalid
from gitworker.service.results import approval_json, approved_json
from gitworker.workers.approve import Approved, NotApproved


@click.command("approve", cls=GitworkerCommand)
@click.argument("workers", nargs=-1, type=WorkerName(), metavar="[WORKER]...")
@click.option("--all", "everything", is_flag=True, help="Approve all work that waits for review.")
@click.option(
    "--at", metavar="COMMIT", help="Approve up to this commit, the newest one of the branch."
)
@click.option("-m", "--message", type=Text(), metavar="TEXT", help="A note for the worker.")
@click.pass_obj
def command(
    call: CommandLine, workers: tuple[str, ...], everything: bool, at: str | None,
    message: str | None,
) -> int:  # fmt: skip
    """Approve a worker's branch and rebase it onto the target.

    The approval is for the commits that were handed in with `git worker done`. If the branch has
    later commits, they are listed and the exit status is 3: look at them and repeat with --at and
    the newest commit, or let the worker run `git worker done` again. Commits made after the
    approval withdraw it.

    The rebase comes first and is mandatory. On a conflict nothing moves: the worker is at work
    again, the files are listed, and the exit status is 3. The old tip is kept under a rescue ref. A
    worker cannot approve its own work. If one of several workers cannot be approved, it is reported
    and the others are still approved; the exit status is the worst one.

    A branch that is stacked on another worker's branch is approved after that branch and rebased
    onto it.

    \b
      git worker diff auth
      git worker approve auth -m 'Good work'
      git worker approve auth --at 1f3a9c2
      git worker approve --all
    """
    if everything == bool(workers):
        raise Invalid("name workers, or use --all", "git worker inbox", code="usage")
    if at is not None and len(workers) != 1:
        raise Invalid(
            "--at requires one worker", "git worker approve --at <commit> <worker>", code="usage"
        )
    with ProgressLine() as progress:
        results = call.service(progress).approve(workers, note=message or "", at=at)
    if len(workers) == 1:
        (result,) = results
        if isinstance(result, NotApproved):
            raise result.error
        call.show(f"{_text(result)}\nnext: {result.next_command}", **approval_json(result))
        return 0
    if call.as_json:
        output.document({"results": [approved_json(result) for result in results]})
    elif not results:
        output.answer("nothing waits for review")
    else:
        _print_results(results, in_short=everything)
    return max(
        (result.error.status for result in results if isinstance(result, NotApproved)), default=0
    )


def _print_results(results: Sequence[Approved | NotApproved], *, in_short: bool) -> None:
    """Write the approvals; write the errors of the others to standard error."""
    for result in results:
        if isinstance(result, NotApproved):
            output.complain(result.error, about=result.worker_id)
        else:
            output.answer(_in_short(result) if in_short else _text(result))
    for result in results:
        if in_short and isinstance(result, Approved) and result.left_out is not None:
            output.answer(f"{result.worker.worker_id}: {left_out_text(result.left_out)}")


def _head(approved: Approved) -> str:
    return f"{approved.worker.in_words} at {short(approved.commit)}"


def _in_short(approved: Approved) -> str:
    old = approved.rebased_from
    return _head(approved) + (f", rebased from {short(old)}" if old else "")


def _text(approved: Approved) -> str:
    lines = [_head(approved)]
    if approved.rescue_ref:
        lines += [f"before the rebase: {approved.rescue_ref}", "undo: git worker undo"]
    if approved.without:
        lines.append(f"without the commits of {approved.without}, which was withdrawn")
    if approved.unrequested:
        counted = f"{approved.unrequested} commit{'s' * (approved.unrequested > 1)}"
        lines.append(
            f"{counted} came after it was handed in: git worker diff {approved.worker.worker_id}"
        )
    if approved.left_out:
        lines.append(left_out_text(approved.left_out))
    return "\n".join(lines)
