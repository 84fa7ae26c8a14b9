"""git worker fail."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import message_options, require_message
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.service.results import worker_json


@click.command("fail", cls=GitworkerCommand)
@worker_argument(required=False)
@message_options("The reason.")
@click.pass_obj
def command(call: CommandLine, worker: str | None, message: str | None, file: str | None) -> None:
    """Give up a task, with a reason.

    The worker becomes FAILED and its claim is released. Branch and worktree stay until reset.
    Another worker may try the task again while it has retries left.

    \b
      git worker fail -m 'The library does not exist any more'
    """
    reason = require_message(message, file)
    failed = call.service().fail(worker, reason=reason)
    call.show(failed.in_words, reason=reason, **worker_json(failed))
