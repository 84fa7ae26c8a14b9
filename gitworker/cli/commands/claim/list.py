"""git worker claim list."""

import click

from gitworker.cli.call import Call
from gitworker.cli.options import Verb
from gitworker.observe.claims import json_claims, read_claims, render_claims


@click.command("list", cls=Verb)
@click.pass_obj
def command(call: Call) -> None:
    """List the claims, one row each.

    Shows name, holder, epoch and the rest of the lease. On a pipe the columns are separated by tabs
    and have no heading.

    \b
      git worker claim list
    """
    call.render(read_claims(call.open_quickly()), render_claims, json_claims)
