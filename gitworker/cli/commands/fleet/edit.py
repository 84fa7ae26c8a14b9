"""git worker fleet edit."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.fleet.edit import json_edited


@click.command("edit", cls=GitworkerCommand)
@click.argument("machine", metavar="[MACHINE]", required=False)
@click.option("--capability", "capabilities", multiple=True, required=True, metavar="NAME",
              help="What tasks can use on the machine; repeatable, '' for nothing.")  # fmt: skip
@click.pass_obj
def command(call: CommandLine, machine: str | None, capabilities: tuple[str, ...]) -> None:
    """Change the capabilities of a machine, of this one by default.

    The given capabilities replace the former ones. They count like those of each agent that runs on
    the machine; tasks that have begun are not affected.

    \b
      git worker fleet edit --capability gpu --capability cuda
      git worker fleet edit beta --capability gpu
    """
    changed = call.service().edit_machine(machine, capabilities)
    words = ", ".join(changed.capabilities) or "no capabilities"
    call.show(f"{changed.machine} has {words}", **json_edited(changed))
