"""git worker automation remove."""

import click

from gitworker.automations.show import json_automation
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text


@click.command("remove", cls=GitworkerCommand)
@click.argument("name", type=Text())
@click.pass_obj
def command(call: CommandLine, name: str) -> None:
    """Delete an automation.

    The records of its runs stay, and `automation history` shows them.

    \b
      git worker automation remove nightly
    """
    removed = call.service().remove_automation(name)
    call.show(f"removed {name}", **json_automation(removed))
