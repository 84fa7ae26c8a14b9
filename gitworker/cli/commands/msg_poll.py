"""git worker msg poll: the full definition of what `cli.hot.poll` answers quickly."""

import click

from gitworker.bus.consume import POLL_LIMIT
from gitworker.cli.call import Call
from gitworker.cli.hot.place import place_of
from gitworker.cli.hot.poll import LIMIT_MAX, poll
from gitworker.cli.options import Verb


@click.command("poll", cls=Verb)
@click.option(
    "--limit", type=click.IntRange(1, LIMIT_MAX), default=POLL_LIMIT, show_default=True,
    metavar="N", help="At most this many.",
)  # fmt: skip
@click.option("--no-ack", is_flag=True, help="Leave them unread.")
@click.pass_obj
def command(call: Call, limit: int, no_ack: bool) -> None:
    """Print my unread messages, then acknowledge them.

    JSON Lines, oldest first: messages to me and to everybody. They are acknowledged once all of
    them are out; what a killed poll had not acknowledged comes again.

    \b
      git worker msg poll
      git worker msg poll --no-ack --limit 10
    """
    poll(place_of(call.open_quickly()), limit=limit, acknowledging=not no_ack)
