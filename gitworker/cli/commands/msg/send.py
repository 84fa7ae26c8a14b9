"""git worker msg send: the complete command; `cli.hot.send` is its fast path."""

import click

from gitworker.bus.send import MessageDraft
from gitworker.cli.call import CommandLine
from gitworker.cli.hot.place import hot_context_of
from gitworker.cli.hot.send import WAIT_MAX_S, send_from
from gitworker.cli.options import GitworkerCommand, Seconds


@click.command("send", cls=GitworkerCommand)
@click.argument("type", metavar="TYPE")
@click.argument("payload", metavar="[PAYLOAD|@FILE|-]", required=False)
@click.option("--to", metavar="A", help="A worker or a task; default: all agents.")
@click.option("--id", metavar="U", help="The message's id; a retry with the same id sends nothing.")
@click.option("--correlation", metavar="C", help="The subject; default: the worktree's task.")
@click.option("--reply-to", metavar="U", help="The id of the message to reply to.")
@click.option(
    "--wait", "wait_s", type=Seconds(0, WAIT_MAX_S), default=0, metavar="S",
    help="Wait up to S seconds if a limit blocks the message.",
)  # fmt: skip
@click.pass_obj
def command(
    call: CommandLine,
    type: str,
    payload: str | None,
    to: str | None,
    id: str | None,
    correlation: str | None,
    reply_to: str | None,
    wait_s: float,
) -> None:
    """Send a message and print its id.

    The payload is JSON: an argument, the content of @FILE, or standard input for `-`. The message
    is on disk when the command returns. If the recipient has too many unread messages, or the
    sender sends too many, nothing is sent and the exit status is 3.

    TYPE is status, log, signal or cmd, one of the task_*, review_* and agent_* types, state_change,
    or a word of your own that begins with x-.

    \b
      git worker msg send status '{"progress": 0.5, "step": "tests"}'
      git worker msg send cmd '{"command": "stop"}' --to skills-123
    """
    draft = MessageDraft(
        type, payload, to=to, id=id, correlation_id=correlation, in_reply_to=reply_to
    )
    message_id = send_from(hot_context_of(call.open()), draft, wait_s=wait_s)
    call.show(message_id, id=message_id)
