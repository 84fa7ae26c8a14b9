"""git worker inbox."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Number, Seconds
from gitworker.errors import Invalid
from gitworker.observe.inbox.inbox import json_inbox, render_inbox

WAIT_MAX_S = 86_400


@click.command("inbox", cls=GitworkerCommand)
@click.option(
    "--wait", "wait_s", type=Seconds(0, WAIT_MAX_S), default=0, metavar="S",
    help="If it is empty, wait up to S seconds for the first item.",
)  # fmt: skip
@click.option(
    "-n",
    "--limit",
    type=Number(min=1),
    metavar="N",
    help="Show at most N items; 50 by default.",
)
@click.option("--count", is_flag=True, help="Print the number of items only.")
@click.option("--no-ack", is_flag=True, help="Leave a worker's messages unread.")
@click.pass_obj
def command(call: CommandLine, wait_s: float, limit: int | None, count: bool, no_ack: bool) -> None:
    """Show the items that need you, each with its command.

    A worker sees its unread messages: those to it or about its task, verdicts, commands, and
    conflicts of its branch. Showing them acknowledges them, and the messages to all agents that
    are left out; with --no-ack, --count or an interrupt they stay unread. `git worker msg show N`
    prints message #N whole.

    hq (every caller outside a worker's worktree) sees questions, blocked, failed, stale and paused
    workers, idle ones (the agent ended and handed nothing in), returned work without an agent,
    reviews, approved work that has not landed, budgets that stop work, and messages to hq. Nothing
    is acknowledged: an item is shown until it is settled, a message until it is answered or read
    with `git worker msg poll`. A failure that a running `git worker run` tries again is left out,
    and so is returned work whose agent starts again by itself.

    \b
      git worker inbox
      git worker inbox --wait 600
      git worker inbox --count       for a prompt or a status bar
    """
    service = call.service()
    if count:
        if wait_s:
            raise Invalid("--count does not wait", "git worker inbox --wait 600", code="usage")
        number = service.count_inbox()
        call.show(str(number), count=number)
        return
    inbox = service.inbox(wait_s=wait_s, limit=limit, also={output.OUT: 0})
    if call.as_json or inbox.items:
        call.render(inbox, render_inbox, json_inbox)
    elif output.is_terminal(output.ERR):
        output.narrate(f"nothing needs {inbox.agent}")
    if inbox.upto is not None and not no_ack:
        service.ack(inbox.upto)
