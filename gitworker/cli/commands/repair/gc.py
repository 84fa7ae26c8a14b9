"""git worker gc."""

from typing import Any

import click

from gitworker.cli.call import Call
from gitworker.cli.fields import count
from gitworker.cli.options import Verb
from gitworker.errors import Invalid
from gitworker.journal.gc.gc import Collected, gc, preview_gc, wish_of
from gitworker.journal.gc.rules_gc import Item
from gitworker.rules_text import printable

NOUNS = {
    "rescue": "rescue ref",
    "trash": "removed worktree",
    "verify": "verify worktree",
    "pool": "pool of worktrees",
    "log": "log",
}
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@click.command("gc", cls=Verb)
@click.option("--dry-run", "-n", is_flag=True, help="Only say what would go.")
@click.option(
    "--older-than", "days", type=click.IntRange(min=0), metavar="DAYS",
    help="Only what is older; default: the setting gc.days (7).",
)  # fmt: skip
@click.option(
    "--max-bytes", type=click.IntRange(min=1), metavar="N",
    help="Then the oldest on the disk, until no more than N bytes are left; default: gc.max_bytes.",
)  # fmt: skip
@click.option("--unlanded", is_flag=True, help="Also what holds work that nothing else has.")
@click.pass_obj
def command(
    call: Call, dry_run: bool, days: int | None, max_bytes: int | None, unlanded: bool
) -> None:
    """Let go of old rescue refs, trash, verify trees and logs.

    A rescue ref goes once what it keeps has landed or is on another ref; a removed worktree once a
    rescue ref keeps its work (its ignored files go with it). What only they hold stays, and is
    said, however old it is; --unlanded takes it too. Once a day it runs by itself (setting
    gc.daily). `git worker undo` makes the refs again for as long as git keeps their commits
    (gc.pruneExpire, two weeks unless set otherwise); what is deleted from the disk is gone.

    \b
      git worker gc --dry-run
      git worker gc --older-than 30
      git worker gc --max-bytes 10000000000
    """
    session = call.open()
    wish = wish_of(session, days=days, max_bytes=max_bytes, unlanded=unlanded)
    if wish.days is None and wish.max_bytes is None:
        raise Invalid(
            "gc.days and gc.max_bytes are 0, so nothing ever goes", "git worker gc --older-than 30"
        )
    collected = preview_gc(session, wish) if dry_run else gc(session, wish)
    call.show(_text(collected, dry_run=dry_run), **_fields(collected), dry_run=dry_run)


def _text(collected: Collected, *, dry_run: bool) -> str:
    choice = collected.choice
    lines = []
    if dry_run or any(item.holds for item in choice.going):
        lines += [_line("goes", item) for item in choice.going]
    lines += [_line("stays", item) for item in choice.held]
    counts = [
        count(number, noun)
        for kind, noun in NOUNS.items()
        if (number := sum(item.kind == kind for item in choice.going))
    ]
    verb = "would let go of" if dry_run else "let go of"
    size = _size(choice.size_bytes)
    lines.append(f"{verb} {', '.join(counts)} ({size})" if counts else "nothing to let go of")
    if collected.number is not None and any(item.kind == "rescue" for item in choice.going):
        lines.append(f"undo: git worker undo {collected.number}   (while git keeps the commits)")
    return "\n".join(lines)


def _line(verb: str, item: Item) -> str:
    why = f": holds {item.holds}" if item.holds else ""
    return printable(f"{verb}  {NOUNS[item.kind]} {item.name}{why}")


def _size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in UNITS:
        if size < 1024 or unit == UNITS[-1]:
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def _fields(collected: Collected) -> dict[str, Any]:
    choice = collected.choice
    return {
        "number": collected.number,
        "size_bytes": choice.size_bytes,
        "going": [_item(item) for item in choice.going],
        "held": [_item(item) for item in choice.held],
    }


def _item(item: Item) -> dict[str, Any]:
    return {
        "kind": item.kind,
        "name": item.name,
        "at_ms": item.at_ms,
        "size_bytes": item.size_bytes,
        "holds": item.holds or None,
    }
