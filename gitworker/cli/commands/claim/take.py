"""git worker claim take."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Seconds
from gitworker.observe.claim_list import claim_fields


@click.command("take", cls=GitworkerCommand)
@click.argument("name", metavar="NAME")
@click.option("--wait", type=Seconds(min=0), default=0, metavar="S",
              help="Wait up to S seconds for it.")  # fmt: skip
@click.option(
    "--ttl", type=float, metavar="S", help="The lease in seconds; default: claims.lease-s."
)
@click.pass_obj
def command(call: CommandLine, name: str, wait: float, ttl: float | None) -> None:
    """Take a claim and print its epoch.

    NAME is a task that is ready or the worker's own, `path:PATTERN` for files below the
    repository's root (`*`, `?`, `[a-z]` and `**`, as in gitignore, including everything below), or
    KIND:ANYTHING, such as x:deploy. No other agent can take it, or a pattern that shares a path
    with it, until it is released or its lease ends. A worker's heartbeats renew its leases; others
    use `renew`.

    Exit status 3: another agent holds it; the message names the holder and the end of the lease.

    \b
      epoch=$(git worker claim take 'path:src/auth/**' --wait 60)
      git worker claim take x:deploy --ttl 600
    """
    claim = call.service().take_claim(name, ttl_s=ttl, wait_s=wait)
    call.show(str(claim.epoch), **claim_fields(claim))
