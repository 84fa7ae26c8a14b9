"""git worker automation run."""

import click

from gitworker.automations.show import json_run, render_run
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Text


@click.command("run", cls=GitworkerCommand)
@click.argument("name", type=Text())
@click.option("--run", "run_id", type=Text(), hidden=True)
@click.pass_context
def command(ctx: click.Context, name: str, run_id: str | None) -> None:
    """Run an automation now and wait for its end.

    Trigger, cooldown and `disable` are ignored. If the run fails, the exit status is 1.

    \b
      git worker automation run nightly
    """
    call: CommandLine = ctx.obj
    done = call.service().run_automation(name, run=run_id)
    call.render(done, render_run, json_run)
    if not done.has_succeeded:
        ctx.exit(1)
