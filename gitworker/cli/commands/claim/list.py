"""git worker claim list."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.observe.claim_list import json_claims, render_claims


@click.command("list", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """List the claims, one row each.

    Shows name, holder, epoch and the rest of the lease. On a pipe the columns are separated by tabs
    and have no heading.

    \b
      git worker claim list
    """
    call.render(call.service().claims(), render_claims, json_claims)
