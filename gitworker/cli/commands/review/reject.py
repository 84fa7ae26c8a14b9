"""git worker reject."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text, worker_argument
from gitworker.service.results import worker_json


@click.command("reject", cls=GitworkerCommand)
@worker_argument()
@click.option(
    "-m", "--message", type=Text(), metavar="TEXT", required=True, help="The requested changes."
)
@click.pass_obj
def command(call: CommandLine, worker: str, message: str) -> None:
    """Return a worker's branch with a request for changes.

    IN_REVIEW or APPROVED becomes WORKING. The worker receives the request as a message
    (review_result).

    \b
      git worker reject auth -m 'The form needs a test'
    """
    rejected = call.service().reject(worker, note=message)
    call.show(f"{rejected.worker_id} is {rejected.state}", **worker_json(rejected))
