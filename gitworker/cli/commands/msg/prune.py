"""git worker msg prune."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Number
from gitworker.rules_text import count_text
from gitworker.service.results_repair import prune_json


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
    the last heartbeat. In a fleet, messages that agents of another machine still need stay; each
    machine records what it needs when this runs there.

    \b
      git worker msg prune --dry-run
      git worker msg prune --older-than 7
      zgrep task_done .worker-state/archive/*.gz
    """
    service = call.service()
    if dry_run:
        plan = service.plan_prune(days=days)
        text = f"would prune {count_text(plan.messages, 'message')}" + _held(plan.held_by)
        call.show(text, **prune_json(plan))
        return
    done = service.prune(days=days, archive=not no_archive)
    plan = done.plan
    lines = [f"pruned {count_text(plan.messages, 'message')}" + _held(plan.held_by)]
    if done.archive:
        lines.append(f"archived in {done.archive}")
    if done.collected.blobs:
        lines.append(f"collected {count_text(done.collected.blobs, 'large payload')}")
    call.show("\n".join(lines), **prune_json(done))


def _held(agent: str | None) -> str:
    return f"; {agent} has not read the later ones" if agent else ""
