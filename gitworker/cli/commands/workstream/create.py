"""git worker workstream create."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text
from gitworker.workstreams.show import json_view


@click.command("create", cls=GitworkerCommand)
@click.argument("workstream", type=Text())
@click.option("--title", type=Text(), metavar="TEXT", help="Its title.")
@click.option(
    "--validate", "validation", type=Text(), multiple=True, metavar="CMD",
    help="A command that tests the whole result; repeatable.",
)  # fmt: skip
@click.option(
    "--branch", "has_branch", is_flag=True,
    help="Let its tasks land on the branch ws/<workstream>, which lands on the target as a whole.",
)  # fmt: skip
@click.pass_obj
def command(
    call: CommandLine,
    workstream: str,
    title: str | None,
    validation: tuple[str, ...],
    has_branch: bool,
) -> None:
    """Create a workstream and print its id.

    A workstream is a group of tasks that end together. Its state follows from its tasks: planned
    without tasks, ready, executing once the first has started, validating once all are complete.
    Then the commands of --validate (by default the verify commands) run on the target in a checkout
    of their own. If they pass, the workstream is completed.

    If a critical task ends blocked, the workstream has failed: its other tasks are cancelled, and
    their work is kept. A failed task that is not critical is dropped once all others are complete.

    With --branch the tasks land on a branch of its own, ws/<workstream>. The final validation
    replays it onto the target, runs the commands on the result, and lands it by one fast-forward.
    If that fails, nothing lands: a new task of the workstream repairs it, and `workstream validate`
    continues.

    \b
      git worker workstream create login --branch --validate 'make test'
      git worker task add form -m 'Build the form' --workstream login
    """
    created = call.service().create_workstream(
        workstream, title=title or "", validation=validation, has_branch=has_branch
    )
    call.show(created.line.stored.id, **json_view(created))
