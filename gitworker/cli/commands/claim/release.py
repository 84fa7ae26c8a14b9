"""git worker claim release."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("release", cls=GitworkerCommand)
@click.argument("name", metavar="NAME")
@click.option(
    "--epoch",
    type=click.IntRange(min=0),
    metavar="N",
    help="Only the claim with epoch N; required for `hq`.",
)
@click.pass_obj
def command(call: CommandLine, name: str, epoch: int | None) -> None:
    """Release a claim.

    Prints nothing, and wakes the commands that wait for the claim. Exit status 3: it was lost
    before.

    \b
      git worker claim release 'path:src/auth/**' --epoch "$epoch"
    """
    holder = call.service().release_claim(name, epoch=epoch)
    call.show("", name=name, holder=holder)
