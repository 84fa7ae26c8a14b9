"""git worker merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.review.trusting import offer_trust
from gitworker.cli.live.landing_results import LandingProgress, worst_status
from gitworker.cli.options import GitworkerCommand, WorkerName
from gitworker.errors import Invalid
from gitworker.service.results import landed_json, planned_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.model.outcome import Landed, NotLanded


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
    worker that breaks them; it returns to work with the log, and the others land. If [merge]
    remote is set, the commits are pushed there first, never by force.

    The target's history stays linear, and uncommitted work in its checkout is never touched. The
    worktree and branch of a landed worker are deleted, unless --keep is given or a process lives in
    the worktree. A worker that cannot land is reported; the other workers still land. The exit
    status is the worst one.

    \b
      git worker merge auth
      git worker merge --all
      git worker merge --all --dry-run
    """
    if everything == bool(workers):
        raise Invalid("name workers, or use --all", "git worker inbox", code="usage")
    if dry_run and keep:
        raise Invalid("--dry-run lands nothing, so it excludes --keep", code="usage")
    if dry_run:
        return _plan(call, workers, everything=everything)
    offer_trust(call, "verify")
    results = run_merge(call, workers, everything=everything, keep=keep)
    if call.as_json:
        output.document({"results": [landed_json(result) for result in results]})
    elif everything and not results:
        output.answer("nothing is approved")
    return worst_status(results)


def run_merge(
    call: CommandLine, workers: Sequence[str], **options: Any
) -> list[Landed | NotLanded]:
    """Run `merge` and show its progress."""
    with LandingProgress(as_json=call.as_json) as progress:
        return progress.require_shown(call.service(progress).merge(workers, **options))


def _plan(call: CommandLine, workers: Sequence[str], *, everything: bool) -> int:
    found = call.service().plan_merge(workers, everything=everything)
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
