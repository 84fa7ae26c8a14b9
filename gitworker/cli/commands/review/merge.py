"""git worker merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.review.trusting import offer_trust
from gitworker.cli.fields import short
from gitworker.cli.options import GitworkerCommand, WorkerName
from gitworker.cli.output_progress import ProgressLine
from gitworker.errors import GitWorkerError, Invalid
from gitworker.landing.merge import Landed, NotLanded, merge
from gitworker.model.ref_names import short_name
from gitworker.service.results import landed_json, planned_json
from gitworker.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command("merge", cls=GitworkerCommand)
@click.argument("workers", nargs=-1, type=WorkerName(), metavar="[WORKER]...")
@click.option(
    "--all", "everything", is_flag=True, help="Land all approved work, in the queue's order."
)
@click.option("--keep", is_flag=True, help="Keep worktrees and branches.")
@click.option("--dry-run", is_flag=True, help="List the windows without landing them.")
@click.pass_obj
def command(
    call: CommandLine, workers: tuple[str, ...], everything: bool, keep: bool, dry_run: bool
) -> int:
    """Land approved work on the target.

    Replays workers onto the target one after the other, as many as fit into a window. If verify
    commands are set ([verify] commands in .gitworker.toml), they run on the window's last commit.
    If they pass, the whole window lands with one fast-forward. If they fail, bisection finds the
    worker that breaks them; it returns to WORKING with the log, and the others land. If [merge]
    remote is set, the commits are pushed there first, never by force.

    The target's history stays linear, and uncommitted work in its checkout is never touched. A
    landed worker is COMPLETED; its worktree and branch are deleted, unless --keep is given or a
    process lives in the worktree. A worker that cannot land is reported; the other workers still
    land. The exit status is the worst one.

    \b
      git worker merge auth
      git worker merge --all
      git worker merge --all --dry-run
    """
    if everything == bool(workers):
        raise Invalid("name workers, or use --all", "git worker merge --all", code="usage")
    if dry_run:
        return _plan(call, list(workers), everything=everything)
    session = call.open()
    offer_trust(call, session, "verify")
    results = run_merge(call, session, list(workers), everything=everything, keep=keep)
    if call.as_json:
        output.document({"results": [landed_json(result) for result in results]})
    elif not results:
        output.answer("nothing is approved")
    return max(
        (result.error.status for result in results if isinstance(result, NotLanded)), default=0
    )


def run_merge(
    call: CommandLine, session: Session, workers: list[str], **options: Any
) -> list[Landed | NotLanded]:
    """Run `merge`, print each result as soon as it is known (not with --json), show progress."""
    unheard: list[Exception] = []  # a closed output must not stop the queue
    with ProgressLine() as line:

        def note(results: Sequence[Landed | NotLanded]) -> None:
            line.clear()
            try:
                if not (unheard or call.as_json):
                    print_results(results)
            except (OSError, GitWorkerError) as error:
                unheard.append(error)

        narrate = line.narrate if output.is_terminal(output.ERR) else None
        found = merge(
            session, workers, tell=line.narrate, show=line.show, narrate=narrate, note=note,
            **options,
        )  # fmt: skip
    if unheard:
        raise unheard[0]
    return found


def _plan(call: CommandLine, workers: list[str], *, everything: bool) -> int:
    from gitworker.landing.landing_plan import plan  # 20 ms, only with --dry-run

    found = plan(call.open_to_read(), workers, everything=everything)
    if call.as_json:
        output.document({"plan": [planned_json(one) for one in found]})
        return 0
    for one in found:
        if one.error is not None:
            output.complain(one.error, about=one.worker_id)
        else:
            known = ", passed before" if one.is_known else ""
            output.answer(f"window {one.window}: {one.worker_id} ({one.task_id}){known}")
    if not found:
        output.answer("nothing is approved")
    return 0


def print_results(results: Sequence[Landed | NotLanded]) -> None:
    """Write a line for each landed worker; write the errors of the others to standard error."""
    stopped: dict[int, list[NotLanded]] = {}  # an obstacle of several workers is printed once
    for result in results:
        if isinstance(result, NotLanded):
            stopped.setdefault(id(result.error), []).append(result)
            continue
        target = short_name(result.target)
        output.answer(f"{result.worker.worker_id} landed: {target} is at {short(result.commit)}")
        if result.kept:
            output.narrate(f"kept {result.kept}: {result.kept_why}")
    for same in stopped.values():
        output.complain(same[0].error, about=", ".join(one.worker_id for one in same))
