"""git worker claim take."""

import click

from gitworker.cli.call import Call
from gitworker.cli.commands.claim.claim_identity import claims_of
from gitworker.cli.hot.place import place_of
from gitworker.cli.options import Seconds, Verb
from gitworker.observe.claims import claim_fields


@click.command("take", cls=Verb)
@click.argument("name", metavar="NAME")
@click.option("--wait", type=Seconds(min=0), default=0, metavar="S",
              help="Wait for it, S seconds at most.")  # fmt: skip
@click.option("--ttl", type=float, metavar="S", help="How long it lasts; default: claims.lease-s.")
@click.pass_obj
def command(call: Call, name: str, wait: float, ttl: float | None) -> None:
    """Claim something and print the claim's epoch.

    NAME is a task that is READY or the worker's own, `path:PATTERN` for files below the
    repository's root (`*`, `?`, `[a-z]` and `**`, as in gitignore, with everything below), or
    KIND:ANYTHING, such as x:deploy. Nobody else can take it, or a pattern with a path in common,
    until it is released or its lease ends. A worker's beats renew its leases; others use `renew`.

    Exit status 3: somebody else has it; the message names the holder and until when.

    \b
      epoch=$(git worker claim take 'path:src/auth/**' --wait 60)
      git worker claim take x:deploy --ttl 600
    """
    session = call.open()
    claim = claims_of(session).take(name, ttl_s=ttl, wait_s=wait)
    place_of(session).tell()
    call.show(str(claim.epoch), **claim_fields(claim))
