"""git worker init."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.service.results_repair import fields_json


@click.command("init", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """Set up gitworker in this repository.

    Creates the state directory inside the git directory, the link .worker-state to it, and marked
    lines in .git/info/exclude. No committed file changes. It is safe to repeat, and every command
    that needs it runs it.

    \b
      git worker init
    """
    made = call.service().init()
    call.show(
        f"ready: work lands on {made.target}; the state directory is {made.state}",
        **fields_json(made),
    )
