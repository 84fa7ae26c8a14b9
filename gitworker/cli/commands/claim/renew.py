"""git worker claim renew."""

import click

from gitworker.cli.call import Call
from gitworker.cli.commands.claim.claim_identity import claims_of, require_epoch
from gitworker.cli.options import Verb
from gitworker.observe.claims import claim_fields


@click.command("renew", cls=Verb)
@click.argument("name", metavar="NAME")
@click.option(
    "--epoch", type=click.IntRange(min=0), metavar="N", help="Only the claim N; `hq` has to say."
)
@click.option("--ttl", type=float, metavar="S", help="For S seconds; default: as it was taken for.")
@click.pass_obj
def command(call: Call, name: str, epoch: int | None, ttl: float | None) -> None:
    """Let a claim go on.

    Prints nothing. A lease that has expired goes on too, as long as nobody has taken it. With
    --epoch, as `take` printed it, a claim that was lost and taken again counts as lost.

    Exit status 3: the claim is lost; the message names who has it now.

    \b
      git worker claim renew 'path:src/auth/**' --epoch "$epoch"
    """
    session = call.open_quickly()
    require_epoch(session, "renew", name, epoch)
    claim = claims_of(session).renew(name, epoch=epoch, ttl_s=ttl)
    call.show("", **claim_fields(claim))
