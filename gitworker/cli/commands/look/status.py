"""git worker status."""

from functools import partial

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Seconds
from gitworker.errors import Invalid
from gitworker.observe.workers.status_text import json_status, render_status
from gitworker.service.views import STATUS_EVERY_S


@click.command("status", cls=GitworkerCommand)
@click.option("-w", "--watch", is_flag=True, help="Show it again after each change.")
@click.option(
    "--every", "every_s", type=Seconds(min=0.1), metavar="S",
    help=f"With --watch: refresh after S seconds in any case.  [default: {STATUS_EVERY_S:g}]",
)  # fmt: skip
@click.option(
    "-a", "--all", "include_all", is_flag=True,
    help="Also show workers that completed their task more than a day ago.",
)  # fmt: skip
@click.option("--machine", metavar="NAME", help="Only the workers of this machine of the fleet.")
@click.pass_obj
def command(
    call: CommandLine,
    watch: bool,
    every_s: float | None,
    include_all: bool,
    machine: str | None,
) -> None:
    """Show all workers on one screen.

    Shows the target, every worker with its task, state, liveness, commits and news, unfinished
    operations, and the last events. Workers at work come first. The news are the reason why work
    came back, a failed verification, a conflict, or the last commit, with the next command of a
    worker that needs one. If there are any, it also shows workstreams, registered agents with the
    number of their tasks at work, budgets, and the tasks that start next. With --watch it stays on
    the terminal until q or Ctrl-C. If standard output is not a terminal, each change prints the
    text again after an empty line, or one line with --json.

    \b
      git worker status
      git worker status --json
      git worker status --watch
    """
    if every_s is not None and not watch:
        raise Invalid(
            "--every requires --watch", "git worker status --watch --every 5", code="usage"
        )
    if watch:
        from gitworker.cli.live.watch_status import watch_status  # 8 ms, only with --watch

        watch_status(
            call, every_s=every_s or STATUS_EVERY_S, include_all=include_all, machine=machine
        )
        return
    status = call.views().status(every_subject=call.as_json, machine=machine)
    call.render(status, partial(render_status, include_all=include_all), json_status)
