"""git worker msg poll: the complete command; `cli.hot.poll` is its fast path."""

import click

from gitworker.bus.consume import POLL_LIMIT
from gitworker.cli.call import CommandLine
from gitworker.cli.hot.place import hot_context_of
from gitworker.cli.hot.poll import LIMIT_MAX, WAIT_MAX_S, poll
from gitworker.cli.options import GitworkerCommand, Seconds


@click.command("poll", cls=GitworkerCommand)
@click.option(
    "--limit", type=click.IntRange(1, LIMIT_MAX), default=POLL_LIMIT, show_default=True,
    metavar="N", help="Print at most N messages.",
)  # fmt: skip
@click.option("--no-ack", is_flag=True, help="Leave the messages unread.")
@click.option(
    "--wait", "wait_s", type=Seconds(0, WAIT_MAX_S), default=0, metavar="S",
    help="If there are no messages, wait up to S seconds for one.",
)  # fmt: skip
@click.pass_obj
def command(call: CommandLine, limit: int, no_ack: bool, wait_s: float) -> None:
    """Print my unread messages and acknowledge them.

    Prints JSON Lines, oldest first: messages to me and to all agents. They are acknowledged after
    all of them are printed; after an interrupted poll, the next one prints them again.

    \b
      git worker msg poll
      git worker msg poll --no-ack --limit 10
      git worker msg poll --wait 60
    """
    place = hot_context_of(call.open_quickly())
    poll(place, limit=limit, acknowledging=not no_ack, wait_s=wait_s)
