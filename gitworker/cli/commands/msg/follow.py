"""git worker msg follow."""

import click

from gitworker.bus.following.follow_messages import Filter, follow
from gitworker.bus.following.listen import listen
from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.live.follow_output import READER, print_messages
from gitworker.cli.options import TaskId, Verb
from gitworker.errors import Conflict
from gitworker.session import Session

SEQ_MAX = 2**63 - 1  # SQLite's largest integer


@click.command("follow", cls=Verb)
@click.option("--task", type=TaskId(), metavar="T", help="Only what is about this task.")
@click.option("--type", "kind", metavar="TYPE", help="Only messages of this type.")
@click.option("--from", "sender", metavar="A", help="Only messages of this agent.")
@click.option("--since", type=click.IntRange(0, SEQ_MAX), metavar="SEQ", help="Begin after SEQ.")
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
    session = _open(call)
    wanted = Filter(task, kind, sender)
    with listen(session) as waker:
        messages = follow(
            session.store, session.paths, wanted, since=since, waker=waker, also=READER
        )
        print_messages(messages, as_json=call.as_json or not output.is_terminal(output.OUT))


def _open(call: Call) -> Session:
    """Open the repository to read; also while some program keeps the database locked."""
    try:
        return call.open_to_read()
    except Conflict as error:
        output.narrate(f"warning: {error.message}: what no hook has told of is not published yet")
        return call.open_quickly()
