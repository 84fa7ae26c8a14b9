"""git worker msg poll: the complete command; `cli.hot.poll` is its fast path."""

import json
import math
from collections.abc import Callable
from functools import partial

import click

from gitworker.bus.consume import POLL_LIMIT
from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.hot.place import hot_context_of
from gitworker.cli.hot.poll import LIMIT_MAX, WAIT_MAX_S, poll
from gitworker.cli.options import GitworkerCommand, Seconds
from gitworker.errors import Invalid
from gitworker.observe.inbox.rules_messages import render_brief
from gitworker.store.messages.mailbox import Selection


@click.command("poll", cls=GitworkerCommand)
@click.option(
    "--limit", type=click.IntRange(1, LIMIT_MAX), default=POLL_LIMIT, show_default=True,
    metavar="N", help="Print at most N messages.",
)  # fmt: skip
@click.option("--mine", is_flag=True, help="Only messages to me, none of those to all agents.")
@click.option("--type", "kind", metavar="TYPE", help="Only messages of this type.")
@click.option("--from", "sender", metavar="A", help="Only messages of this agent.")
@click.option("--brief", is_flag=True, help="Print one short line for each, no JSON.")
@click.option("--no-ack", is_flag=True, help="Leave the messages unread.")
@click.option(
    "--wait", "wait_s", type=Seconds(0, WAIT_MAX_S), default=0, metavar="S",
    help="If there are no messages, wait up to S seconds for one.",
)  # fmt: skip
@click.pass_obj
def command(
    call: CommandLine,
    limit: int,
    mine: bool,
    kind: str | None,
    sender: str | None,
    brief: bool,
    no_ack: bool,
    wait_s: float,
) -> None:
    """Print my unread messages and acknowledge them.

    Prints JSON Lines, oldest first: messages to me and to all agents; with --json one document with
    `count` and `items`. They are acknowledged after
    all of them are printed; after an interrupted poll, the next one prints them again. If more are
    unread, the number is on standard error.

    My position on the bus is one number. With --mine, messages to all agents before the last
    printed one count as read. With --type or --from no message is lost: one that is left out stays
    unread, and the printed ones after it come again until it is read, too.

    \b
      git worker msg poll
      git worker msg poll --mine --brief
      git worker msg poll --type review_result --no-ack --limit 10
      git worker msg poll --wait 60
    """
    if brief and call.as_json:
        raise Invalid("--brief and --json exclude each other", code="usage")
    place = hot_context_of(call.open_quickly())

    def show_document(lines: list[str]) -> None:
        items = [
            json.loads(line, parse_float=_number, parse_int=partial(_number, kind=int))
            for line in lines
        ]
        output.document({"agent": place.actor, "count": len(items), "items": items})

    poll(
        place, Selection(mine=mine, type=kind, sender=sender), limit=limit,
        acknowledging=not no_ack, wait_s=wait_s, shown=render_brief if brief else None,
        document=show_document if call.as_json else None,
    )  # fmt: skip


def _number(text: str, kind: Callable[[str], float] = float) -> float | str:
    """Return a number; a text for one of another program that JSON readers cannot hold."""
    try:
        number = kind(text)
    except ValueError:  # more digits than Python reads
        return text
    return number if isinstance(number, int) or math.isfinite(number) else text
