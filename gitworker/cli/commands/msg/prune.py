"""git worker msg prune."""

from typing import TYPE_CHECKING

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.fields import count
from gitworker.cli.options import GitworkerCommand, Number
from gitworker.errors import Invalid

if TYPE_CHECKING:
    from gitworker.bus.files.retention import PrunePlan

ANNOUNCE_FROM = 50_000  # this many messages take some seconds


@click.command("prune", cls=GitworkerCommand)
@click.option(
    "--older-than", "days", type=Number(min=0), metavar="DAYS",
    help="Remove only older messages; default: the setting retention.days (30).",
)  # fmt: skip
@click.option("--no-archive", is_flag=True, help="Delete without an archive.")
@click.option("--dry-run", "-n", is_flag=True, help="Count the deletions without making them.")
@click.pass_obj
def command(call: CommandLine, days: int | None, no_archive: bool, dry_run: bool) -> None:
    """Archive old messages and remove them from the bus.

    Removes messages that are old enough and that every living agent has read. An agent is living
    while it sends heartbeats, acknowledges messages, or its process runs. The messages, dead
    letters of the same age, and the content of their large payloads are written to
    archive/bus-FIRST-LAST.jsonl.gz before the deletion. bus.jsonl is rewritten with the remaining
    messages. Runs once a day in the background. Refused while the wall clock differs by a day from
    the last heartbeat.

    \b
      git worker msg prune --dry-run
      git worker msg prune --older-than 7
      zgrep task_done .worker-state/archive/*.gz
    """
    from gitworker.journal.gc.upkeep import (  # gzip, json: 15 ms
        preview_prune,
        prune_bus,
        prune_request,
    )

    session = call.open()
    if days is None:
        days = session.settings.retention_days
        if days == 0:
            raise Invalid(
                "retention.days is 0, so no message is old enough",
                "git worker msg prune --older-than 30",
            )
    archiving = session.settings.retention_archive and not no_archive
    request = prune_request(session, days=days, archiving=archiving)
    if dry_run:
        plan = preview_prune(session, request)
        text = f"would prune {count(plan.messages, 'message')}" + _held(plan.held_by)
        call.show(text, **plan._asdict(), dry_run=True)
        return
    done = prune_bus(session, request, announce=_announce)
    plan = done.plan
    lines = [f"pruned {count(plan.messages, 'message')}" + _held(plan.held_by)]
    if done.archive:
        lines.append(f"archived in {done.archive}")
    if done.collected.blobs:
        lines.append(f"collected {count(done.collected.blobs, 'large payload')}")
    call.show(
        "\n".join(lines),
        **plan._asdict(),
        archive=done.archive,
        blobs=done.collected.blobs,
        blob_bytes=done.collected.size_bytes,
        freed_bytes=done.freed_bytes,
        dry_run=False,
    )


def _announce(plan: "PrunePlan") -> None:
    if plan.messages >= ANNOUNCE_FROM:
        output.narrate(f"pruning {plan.messages} messages…")


def _held(agent: str | None) -> str:
    return f"; {agent} has not read the later ones" if agent else ""
