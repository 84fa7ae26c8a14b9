"""git worker reject."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import message_options, require_message
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.service.results import rejected_json


@click.command("reject", cls=GitworkerCommand)
@worker_argument()
@message_options("The requested changes.")
@click.pass_obj
def command(call: CommandLine, worker: str, message: str | None, file: str | None) -> None:
    """Return a worker's branch with a request for changes.

    A worker in review or approved is at work again. The worker receives the request as a message
    (review_result).

    \b
      git worker reject auth -m 'The form needs a test'
      git worker reject auth -F review.md
    """
    rejected = call.service().reject(worker, note=require_message(message, file))
    text = f"{rejected.worker.in_words}\nnext: {rejected.next_command}"
    call.show(text, **rejected_json(rejected))
