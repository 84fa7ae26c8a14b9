"""git worker path."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.observe.workers.path import json_path


@click.command("path", cls=GitworkerCommand)
@worker_argument(required=False)
@click.pass_obj
def command(call: CommandLine, worker: str | None) -> None:
    """Print the path of a worker's worktree.

    Prints the exact bytes on one line, for use with cd.

    \b
      cd "$(git worker path auth)"
    """
    found = call.views().path(worker)
    if call.as_json:
        output.document(json_path(found))
    else:
        output.answer_exact(found.path)
    if found.flaw is not None:
        output.narrate(f"{found.flaw}; git would not work there")
