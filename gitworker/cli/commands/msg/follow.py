"""git worker msg follow."""

import click

from gitworker.bus.following.follow_messages import MessageFilter
from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.live.follow_output import print_messages
from gitworker.cli.live.reader import pause_for_reader
from gitworker.cli.options import GitworkerCommand, TaskId

SEQ_MAX = 2**63 - 1  # SQLite's largest integer


@click.command("follow", cls=GitworkerCommand)
@click.option("--task", type=TaskId(), metavar="T", help="Only messages about this task.")
@click.option("--type", "kind", metavar="TYPE", help="Only messages of this type.")
@click.option("--from", "sender", metavar="A", help="Only messages of this agent.")
@click.option("--since", type=click.IntRange(0, SEQ_MAX), metavar="SEQ", help="Begin after SEQ.")
@click.pass_obj
def command(
    call: CommandLine, task: str | None, kind: str | None, sender: str | None, since: int | None
) -> None:
    """Print new messages as they arrive.

    Prints the messages of all agents, from now on or after SEQ. No cursor moves. On a terminal,
    prints one readable line for each message; otherwise, and with --json, JSON Lines. Ends on
    Ctrl-C, when the reader closes its end, and when the state directory is deleted.

    \b
      git worker msg follow --task login-form
      git worker msg follow --since 0 --type task_done
    """
    messages = call.service().follow(
        MessageFilter(task, kind, sender), since=since, pause=pause_for_reader()
    )
    print_messages(messages, as_json=call.as_json or not output.is_terminal(output.OUT))
