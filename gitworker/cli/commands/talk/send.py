"""git worker send."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import read_message
from gitworker.cli.options import GitworkerCommand, Text, offer_workers
from gitworker.errors import Invalid


@click.command("send", cls=GitworkerCommand)
@click.argument("to", metavar="WORKER", shell_complete=offer_workers)
@click.argument("text", type=Text(), required=False)
@click.option(
    "-F", "--file", metavar="FILE", help="Take the text from a file; - is standard input."
)
@click.option("--reply-to", metavar="N", help="The number or id of the message to answer.")
@click.pass_obj
def command(
    call: CommandLine, to: str, text: str | None, file: str | None, reply_to: str | None
) -> None:
    """Send a text to a worker.

    WORKER is a worker, a task, another agent, or hq. The text (- is standard input) appears in its
    inbox, and in the log of the worker's task. Prints the command that shows the message; --json
    has its id. Other types and payloads: `git worker msg send`.

    \b
      git worker send auth 'Use the new form library'
      git worker send hq 'Which port?'
      git worker send auth --reply-to 42 '8080'
      git worker send auth -F notes.md
    """
    if text is not None and file is not None:
        raise Invalid("TEXT and -F both give a text; use one of them", code="usage")
    words = read_message(None, "-") if text == "-" else read_message(text, file)
    if words is None:
        raise click.UsageError("Missing argument 'TEXT', or '-F' / '--file'.")
    message_id = call.service().send_note(to, words, reply_to=reply_to)
    call.show(f"sent to {to}; show it: git worker msg show {message_id}", id=message_id)
