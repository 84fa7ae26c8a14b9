"""git worker sync."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.fields import short
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.errors import Invalid
from gitworker.service.results import synced_json


@click.command("sync", cls=GitworkerCommand)
@worker_argument(required=False)
@click.option("--continue", "continuing", is_flag=True, help="Continue after resolving conflicts.")
@click.option("--abort", is_flag=True, help="Abort the stopped rebase.")
@click.option(
    "--take-parent", "takes", is_flag=True, help="Keep the parent's commits in this branch."
)
@click.pass_obj
def command(
    call: CommandLine, worker: str | None, continuing: bool, abort: bool, takes: bool
) -> None:
    """Rebase the worker's branch onto the target.

    Run it in the worker's worktree, or name the worker. This is a real git rebase: on a conflict it
    stops, names the files and exits with status 3. Resolve the conflicts, run git add, and continue
    with --continue, or restore the earlier state with --abort, which keeps your resolution under a
    rescue ref.

    A branch that was started on another worker's branch (spawn --from) is rebased onto that branch,
    and onto the target once that work has landed or was cancelled. Only its own commits are moved.
    With --take-parent all its commits are moved to the target, and from then on it waits for no
    other worker.

    \b
      git worker sync
      git worker sync --continue
    """
    if continuing + abort + takes > 1:
        raise Invalid("--continue, --abort and --take-parent exclude each other", code="usage")
    mode = "continue" if continuing else "abort" if abort else "take" if takes else "start"
    call.identity = worker or call.identity
    synced = call.service().sync(mode)
    place = f"{synced.worker.branch} is at {short(synced.new)}"
    moved = f", before at {short(synced.old)}" if synced.new != synced.old else ", as before"
    kept = f"; the work in the rebase is kept under {synced.kept}" if synced.kept else ""
    call.show(
        f"{place}{moved} ({synced.onto} is at {short(synced.target)}){kept}",
        **synced_json(synced),
    )
