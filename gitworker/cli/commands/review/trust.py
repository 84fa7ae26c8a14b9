"""git worker trust."""

import click

from gitworker import clock
from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.review.trusting import brought_text, require_agreement
from gitworker.cli.options import GitworkerCommand
from gitworker.errors import Invalid
from gitworker.service.results import to_json
from gitworker.verify.trust import HASH_SHOWN, RepositoryCommands, TrustRecord


@click.command("trust", cls=GitworkerCommand)
@click.option("--yes", is_flag=True, help="Agree without a prompt.")
@click.option("--list", "listing", is_flag=True, help="List the trusted commands.")
@click.option("--revoke", "revoked", metavar="HASH", help="Revoke the trust in these commands.")
@click.pass_obj
def command(call: CommandLine, yes: bool, listing: bool, revoked: str | None) -> None:
    """Trust the commands of this repository.

    The verify and setup commands and the agents in .gitworker.toml come with the repository and run
    with your rights. This command shows them and asks for your agreement; they do not run without
    it. An agreement covers exactly this text: changed commands need a new one. Commands that you
    set yourself, with git config or in the environment, need no agreement. Without a terminal,
    --yes is required. A worker cannot agree.

    \b
      git worker trust
      git worker trust --list
    """
    if yes + listing + (revoked is not None) > 1:
        raise Invalid("--yes, --list and --revoke exclude each other", code="usage")
    service = call.service()
    if listing:
        found = service.trusted_commands()
        call.show(_listed(found), trusted=to_json(found))
    elif revoked is not None:
        ended = service.revoke_trust(revoked)
        call.show(f"no longer trusted: {ended.brought.hash}", revoked=to_json(ended))
    else:
        waiting = service.untrusted_commands()
        if waiting and not yes:
            require_agreement(call, waiting)
        elif waiting:
            output.narrate(brought_text(waiting))
        service.trust(waiting)
        call.show(_agreed(waiting), trusted=to_json(waiting))


def _agreed(agreed: list[RepositoryCommands]) -> str:
    if not agreed:
        return "no commands need an agreement"
    hashes = [one.hash[:HASH_SHOWN] for one in agreed]
    return f"trusted: {', '.join(hashes)}\nundo: git worker trust --revoke {hashes[0]}"


def _listed(found: list[TrustRecord]) -> str:
    if not found:
        return "no commands are trusted"
    return "\n".join(
        f"{one.brought.hash[:HASH_SHOWN]}  {clock.iso_utc_seconds(one.ts_ms)}  {one.brought.kind}"
        f"  {one.trusted_by}  {'; '.join(' '.join(c.split()) for c in one.brought.commands)}"
        for one in found
    )
