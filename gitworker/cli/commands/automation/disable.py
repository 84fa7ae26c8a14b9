"""git worker automation disable."""

import click

from gitworker.automations.show import json_automation
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text


@click.command("disable", cls=GitworkerCommand)
@click.argument("name", type=Text())
@click.pass_obj
def command(call: CommandLine, name: str) -> None:
    """Keep an automation from firing.

    A run that has begun continues, and `automation run` still works.

    \b
      git worker automation disable nightly
    """
    changed = call.service().enable_automation(name, enabled=False)
    call.show(f"{name} is disabled", **json_automation(changed))
