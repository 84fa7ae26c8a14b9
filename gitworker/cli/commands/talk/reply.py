"""git worker reply."""

import os

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import read_text
from gitworker.cli.options import GitworkerCommand, offer_workers, require_utf8
from gitworker.errors import Invalid
from gitworker.questions.reply import json_replied


@click.command("reply", cls=GitworkerCommand)
@click.argument("name", metavar="TASK|WORKER", shell_complete=offer_workers)
@click.argument("text", required=False)
@click.option("-F", "--file", metavar="FILE", help="Take the answer from a file; - is the input.")
@click.option(
    "-q", "--question", "number", type=click.IntRange(min=1), metavar="N",
    help="The number of the question, if there are several.",
)  # fmt: skip
@click.pass_obj
def command(
    call: CommandLine, name: str, text: str | None, file: str | None, number: int | None
) -> None:
    """Answer the question of a worker.

    The task continues: its agent gets the answer from `ask`, through its hooks, or in the prompt of
    its next run. If the question has options, the answer must be one of them. Prints the next
    command. `git worker questions` lists the questions.

    \b
      git worker reply login-form '8080'
      git worker reply auth -F answer.md
    """
    if text is not None and file is not None:
        raise Invalid("TEXT and -F both give a text; use one of them", code="usage")
    answer = require_utf8(os.fsdecode(read_text(text, file) or b""), "the answer")
    replied = call.service().reply(name, answer, number=number)
    shown = f"{replied.question.worker_id} has the answer; next: {replied.next}"
    output.show(shown, json_replied(replied), as_json=call.as_json)
