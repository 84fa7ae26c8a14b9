"""git worker automation enable."""

import click

from gitworker.automations.show import json_automation
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text


@click.command("enable", cls=GitworkerCommand)
@click.argument("name", type=Text())
@click.pass_obj
def command(call: CommandLine, name: str) -> None:
    """Let an automation fire again.

    Times and events before now are ignored.

    \b
      git worker automation enable nightly
    """
    changed = call.service().enable_automation(name, enabled=True)
    call.show(f"{name} is enabled", **json_automation(changed))
