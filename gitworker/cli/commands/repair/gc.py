"""git worker gc."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.journal.gc.gc import CollectedItems
from gitworker.journal.gc.rules_gc import REFS, Item
from gitworker.rules_text import count_text, printable, size_text
from gitworker.service.results_repair import gc_json

NOUNS = {
    "rescue": "rescue ref",
    "round": "round ref",
    "trash": "removed worktree",
    "verify": "verify worktree",
    "pool": "pool of worktrees",
    "log": "log",
}


@click.command("gc", cls=GitworkerCommand)
@click.option("--dry-run", "-n", is_flag=True, help="List the deletions without making them.")
@click.option(
    "--older-than", "days", type=click.IntRange(min=0), metavar="DAYS",
    help="Delete only older items; default: the setting gc.days (7).",
)  # fmt: skip
@click.option(
    "--max-bytes", type=click.IntRange(min=1), metavar="N",
    help="Then delete the oldest items until at most N bytes are left; default: gc.max_bytes.",
)  # fmt: skip
@click.option("--unlanded", is_flag=True, help="Also delete work that exists nowhere else.")
@click.pass_obj
def command(
    call: CommandLine, dry_run: bool, days: int | None, max_bytes: int | None, unlanded: bool
) -> None:
    """Delete old rescue refs, trash, verify worktrees and logs.

    A rescue ref is deleted once its work has landed or is on another ref, and so are the refs of
    the rounds of a review once their task has ended. A removed worktree is
    deleted once a rescue ref keeps its work; its ignored files are deleted with it. Work that
    exists nowhere else is kept, however old, and reported; --unlanded deletes it, too. gc runs once
    a day in the background (setting gc.daily). `git worker undo` restores the refs as long as git
    keeps their commits (gc.pruneExpire, two weeks by default). Files that were deleted from the
    disk cannot be restored.

    \b
      git worker gc --dry-run
      git worker gc --older-than 30
      git worker gc --max-bytes 10000000000
    """
    collected = call.service().gc(
        days=days, max_bytes=max_bytes, unlanded=unlanded, dry_run=dry_run
    )
    call.show(_text(collected, dry_run=dry_run), **gc_json(collected), dry_run=dry_run)


def _text(collected: CollectedItems, *, dry_run: bool) -> str:
    choice = collected.choice
    lines = []
    deleted = "would delete" if dry_run else "deleted"
    if dry_run or any(item.holds for item in choice.selected):
        lines += [_line(deleted, item) for item in choice.selected]
    lines += [_line("kept", item) for item in choice.held]
    counts = [
        count_text(number, noun)
        for kind, noun in NOUNS.items()
        if (number := sum(item.kind == kind for item in choice.selected))
    ]
    size = size_text(choice.size_bytes)
    lines.append(f"{deleted} {', '.join(counts)} ({size})" if counts else "nothing to delete")
    if collected.number is not None and any(item.kind in REFS for item in choice.selected):
        lines.append(f"undo: git worker undo {collected.number}   # while git keeps the commits")
    return "\n".join(lines)


def _line(verb: str, item: Item) -> str:
    why = f": holds {item.holds}" if item.holds else ""
    return printable(f"{verb}  {NOUNS[item.kind]} {item.name}{why}")
