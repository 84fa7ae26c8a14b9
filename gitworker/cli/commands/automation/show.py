"""git worker automation show."""

import click

from gitworker.automations.show import json_automation, render_automation
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text


@click.command("show", cls=GitworkerCommand)
@click.argument("name", type=Text())
@click.pass_obj
def command(call: CommandLine, name: str) -> None:
    """Show all details of an automation.

    \b
      git worker automation show nightly
    """
    call.render(call.service().show_automation(name), render_automation, json_automation)
