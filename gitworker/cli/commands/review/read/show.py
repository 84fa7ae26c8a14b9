"""git worker review show."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.review.page.page_json import json_page
from gitworker.review.page.page_text import render_page


@click.command("show", cls=GitworkerCommand)
@worker_argument(required=False)
@click.pass_obj
def command(call: CommandLine, worker: str | None) -> None:
    """Show a review on one page: task, evidence, changes, comments.

    The page shows the work that was handed in last: the task's text, the author's note, the
    evidence (runs of the verify commands, conflicts, uncommitted files, claims of others), then the
    files. Files in conflict come first, then those that other workers have claimed; files that
    .gitattributes call linguist-generated or linguist-vendored come last, without their lines.
    Comments are below their lines. A hunk has its id or `viewed` beside its range. Text output
    counts as a look, with which `git worker review diff` compares later rounds. `git worker review
    WORKER` is the same command.

    \b
      git worker review auth
      git worker review show auth
    """
    page = call.service().review(worker, records_look=not call.as_json)
    call.render(page, render_page, json_page, pages=True)
