"""git worker workstream add."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TaskId, Text
from gitworker.workstreams.show import json_view


@click.command("add", cls=GitworkerCommand)
@click.argument("workstream", type=Text())
@click.argument("tasks", type=TaskId(), nargs=-1, required=True, metavar="TASK...")
@click.pass_obj
def command(call: CommandLine, workstream: str, tasks: tuple[str, ...]) -> None:
    """Put tasks into a workstream, all or none.

    A task can join until it starts, and a workstream takes tasks until it is validated. `task add
    --workstream` and a plan with `workstream: ID` do the same for new tasks.

    \b
      git worker workstream add login form styles
    """
    found = call.service().add_to_workstream(workstream, tasks)
    done, kept = found.line.done_of
    text = f"workstream {workstream} is {found.line.stored.state}: {done} of {kept} tasks complete"
    call.show(text, **json_view(found))
