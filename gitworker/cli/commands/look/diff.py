"""git worker diff."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.errors import Invalid
from gitworker.observe.workers.diff import (
    REQUEST,
    REVIEW,
    DiffOptions,
    json_diff,
    render_diff,
)


@click.command("diff", cls=GitworkerCommand)
@worker_argument(required=False)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--stat", is_flag=True, help="Show only the summary by file.")
@click.option("--name-only", "names", is_flag=True, help="Show only the names of the files.")
@click.option("--since-request", is_flag=True, help="Show the changes since the last hand-in.")
@click.option(
    "--since-review", is_flag=True, help="Show the changes since the commit that was judged last."
)
@click.option("--uncommitted", is_flag=True, help="Show the uncommitted changes of the worktree.")
@click.pass_obj
def command(
    call: CommandLine,
    worker: str | None,
    paths: tuple[str, ...],
    *,
    stat: bool,
    names: bool,
    since_request: bool,
    since_review: bool,
    uncommitted: bool,
) -> None:
    """Show the changes that would land.

    Shows the changes on the branch since it left the target, as git diff prints them; with PATHs
    (from the top of the repository) only those. In a worker's own worktree, a path needs no WORKER
    before it. --since-review is for a second review: it shows the changes since the commit of the
    last verdict. If the branch was rebased since, the changes that came from the target are left
    out; if the rebase had conflicts, git range-diff compares the commits. --uncommitted shows the
    work that is not committed yet, new files included.

    \b
      git worker diff auth --stat
      git worker diff auth src/ --since-review
      git worker diff auth --uncommitted
    """
    if since_request + since_review + uncommitted > 1 or (stat and names):
        raise Invalid(
            "--since-request, --since-review and --uncommitted exclude each other, as do --stat and"
            " --name-only",
            "git worker diff -h",
            code="usage",
        )
    options = DiffOptions(
        paths=paths, stat=stat, names=names, uncommitted=uncommitted,
        since=REQUEST if since_request else REVIEW if since_review else None,
        color=output.wants_color() and not call.as_json, width=output.screen_width(),
    )  # fmt: skip
    found = call.views().diff(worker, options)
    if found.note and not call.as_json:
        output.narrate(f"note: {found.note}")
    call.render(found, render_diff, json_diff, exact=True, pages=True)
