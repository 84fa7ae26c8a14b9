"""git worker send."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text


@click.command("send", cls=GitworkerCommand)
@click.argument("to", metavar="WORKER")
@click.argument("text", type=Text())
@click.option("--reply-to", metavar="N", help="The number or id of the message to answer.")
@click.pass_obj
def command(call: CommandLine, to: str, text: str, reply_to: str | None) -> None:
    """Send a text to a worker.

    WORKER is a worker, a task, another agent, or hq. The text appears in its inbox, and in the
    log of the worker's task. Prints the command that shows the message; --json has its id. Other
    types and payloads: `git worker msg send`.

    \b
      git worker send auth 'Use the new form library'
      git worker send hq 'Which port?'
      git worker send auth --reply-to 42 '8080'
    """
    message_id = call.service().send_note(to, text, reply_to=reply_to)
    call.show(f"sent to {to}; show it: git worker msg show {message_id}", id=message_id)
