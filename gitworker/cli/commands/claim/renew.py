"""git worker claim renew."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.observe.claim_list import claim_fields


@click.command("renew", cls=GitworkerCommand)
@click.argument("name", metavar="NAME")
@click.option(
    "--epoch",
    type=click.IntRange(min=0),
    metavar="N",
    help="Only the claim with epoch N; required for `hq`.",
)
@click.option("--ttl", type=float, metavar="S", help="The new lease; default: as it was taken.")
@click.pass_obj
def command(call: CommandLine, name: str, epoch: int | None, ttl: float | None) -> None:
    """Renew a claim.

    Prints nothing. An expired lease is renewed, too, unless another agent has taken the claim. With
    --epoch, as printed by `take`, a claim that was lost and taken again counts as lost.

    Exit status 3: the claim is lost; the message names the new holder.

    \b
      git worker claim renew 'path:src/auth/**' --epoch "$epoch"
    """
    claim = call.service().renew_claim(name, epoch=epoch, ttl_s=ttl)
    call.show("", **claim_fields(claim))
