"""git worker msg poll: the full definition of what `cli.hot.poll` answers quickly."""

import click

from gitworker.bus.consume import POLL_LIMIT
from gitworker.cli.call import Call
from gitworker.cli.hot.place import place_of
from gitworker.cli.hot.poll import LIMIT_MAX, WAIT_MAX_S, poll
from gitworker.cli.options import Seconds, Verb


@click.command("poll", cls=Verb)
@click.option(
    "--limit", type=click.IntRange(1, LIMIT_MAX), default=POLL_LIMIT, show_default=True,
    metavar="N", help="At most this many.",
)  # fmt: skip
@click.option("--no-ack", is_flag=True, help="Leave them unread.")
@click.option(
    "--wait", "wait_s", type=Seconds(0, WAIT_MAX_S), default=0, metavar="S",
    help="Where there are none, wait up to S seconds for some.",
)  # fmt: skip
@click.pass_obj
def command(call: Call, limit: int, no_ack: bool, wait_s: float) -> None:
    """Print my unread messages, then acknowledge them.

    JSON Lines, oldest first: messages to me and to everybody. They are acknowledged once all of
    them are out; what a killed poll had not acknowledged comes again.

    \b
      git worker msg poll
      git worker msg poll --no-ack --limit 10
      git worker msg poll --wait 60
    """
    place = place_of(call.open_quickly())
    poll(place, limit=limit, acknowledging=not no_ack, wait_s=wait_s)
