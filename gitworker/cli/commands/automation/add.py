"""git worker automation add."""

from typing import Any

import click

from gitworker.automations.rules_automation import Draft
from gitworker.automations.show import json_automation
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Number, Text


@click.command("add", cls=GitworkerCommand)
@click.argument("name", type=Text())
@click.option("--every", "every_s", type=Number(min=1), metavar="S", help="Run every S seconds.")
@click.option("--cron", type=Text(), metavar="EXPR", help="Run at these times: '0 7 * * 1-5'.")
@click.option(
    "--on", "events", type=Text(), multiple=True, metavar="EVENT",
    help="Run after a message of this type, or a task's step to this status; repeatable.",
)  # fmt: skip
@click.option(
    "--step", "steps", type=Text(), multiple=True, metavar="CMD",
    help="A command whose output is {{step_0}}, {{step_1}}, …; repeatable.",
)  # fmt: skip
@click.option("--prompt", type=Text(), metavar="TEXT", help="The prompt, with placeholders.")
@click.option("--command", type=Text(), metavar="CMD", help="The action: run a command.")
@click.option("--task", type=Text(), metavar="TITLE", help="The action: add a task.")
@click.option("--agent", type=Text(), metavar="NAME", help="The action: run an agent.")
@click.option(
    "--cooldown", "cooldown_s", type=Number(min=0), metavar="S",
    help="Wait at least S seconds between two runs; default: 3600 for --on, else 0.",
)  # fmt: skip
@click.option(
    "--max-tokens", type=Number(min=1), metavar="N", help="Stop a run that uses more tokens."
)
@click.option("--title", type=Text(), metavar="TEXT", help="Its title.")
@click.option("--disabled", is_flag=True, help="Do not fire until `automation enable`.")
@click.pass_obj
def command(call: CommandLine, /, disabled: bool, **options: Any) -> None:
    """Add an automation and print its name.

    It has one trigger (--every, --cron in local time, or --on) and one action. `git worker run`
    fires it while it runs, and `automation run` does so by hand. A missed time, for example while
    the machine slept, fires once.

    First the commands of --step run in the main checkout. {{step_0}} in the prompt is the output of
    the first one, {{event}} the event as JSON. --command gets the prompt in GITWORKER_PROMPT and
    the event in GITWORKER_EVENT; text from an event never becomes part of a shell command. --task
    and --agent add a task with the prompt as its text; the agent works on it in a worktree of its
    own.

    \b
      git worker automation add nightly --cron '0 2 * * *' --command make
      git worker automation add triage --on BLOCKED --task 'Find the cause' \\
          --prompt 'A task is blocked: {{event}}'
    """
    given = {name: value for name, value in options.items() if value is not None}
    added = call.service().add_automation(Draft(**given, enabled=not disabled))
    call.show(added.id, **json_automation(added))
