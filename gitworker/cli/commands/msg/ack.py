"""git worker msg ack."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("ack", cls=GitworkerCommand)
@click.argument("seq", type=click.IntRange(min=0), metavar="SEQ")
@click.pass_obj
def command(call: CommandLine, seq: int) -> None:
    """Acknowledge messages up to a position.

    SEQ is the `seq` of the last message that was handled. The cursor never moves back.

    \b
      git worker msg poll --no-ack
      git worker msg ack 42
    """
    call.show("", agent=call.service().ack(seq), seq=seq)
