"""git worker workstream validate."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text
from gitworker.workstreams.validate import json_validation, render_validation


@click.command("validate", cls=GitworkerCommand)
@click.argument("workstream", type=Text())
@click.pass_context
def command(context: click.Context, workstream: str) -> None:
    """Run the final validation of a workstream.

    Its tasks must all be complete or dropped. `git worker run` does this by itself. If a command
    fails, the workstream has failed, the exit status is 1, and the output names the log. Untrusted
    verify commands are refused.

    \b
      git worker workstream validate login
    """
    call: CommandLine = context.obj
    done = call.service().validate_workstream(workstream)
    call.render(done, render_validation, json_validation)
    if not done.has_passed:
        context.exit(1)
