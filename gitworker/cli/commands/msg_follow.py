"""git worker msg follow."""

import click

from gitworker.bus.follow import Filter, follow
from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.follow import print_messages
from gitworker.cli.options import TaskId, Verb


@click.command("follow", cls=Verb)
@click.option("--task", type=TaskId(), metavar="T", help="Only what is about this task.")
@click.option("--type", "kind", metavar="TYPE", help="Only messages of this type.")
@click.option("--from", "sender", metavar="A", help="Only messages of this agent.")
@click.option("--since", type=click.IntRange(min=0), metavar="SEQ", help="Begin after SEQ.")
@click.pass_obj
def command(
    call: Call, task: str | None, kind: str | None, sender: str | None, since: int | None
) -> None:
    """Print messages as they come.

    Everybody's messages, from now on or after SEQ; nobody's cursor moves. On a terminal one
    readable line each, else, and with --json, JSON Lines. Ends on Ctrl-C, when its reader goes, and
    when the state directory goes.

    \b
      git worker msg follow --task login-form
      git worker msg follow --since 0 --type task_done
    """
    session = call.open_to_read()
    messages = follow(session.store, session.paths, Filter(task, kind, sender), since=since)
    print_messages(messages, as_json=call.as_json or not output.is_terminal(output.OUT))
