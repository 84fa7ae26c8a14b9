"""git worker log."""

from typing import Any

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Moment, Number, worker_argument
from gitworker.errors import Invalid
from gitworker.observe.logs.log import json_log, render_log
from gitworker.observe.logs.log_filter import DEFAULT_LIMIT


@click.command("log", cls=GitworkerCommand)
@worker_argument(required=False)
@click.option(
    "-n", "--limit", type=Number(min=1), metavar="N",
    help=f"Show at most N events.  [default: {DEFAULT_LIMIT}; all with --since]",
)  # fmt: skip
@click.option(
    "--since", "since_ms", type=Moment(), metavar="TIME",
    help="Show only events since TIME: 90s, 30m, 2h, 3d, or a date, with a time or without.",
)  # fmt: skip
@click.option(
    "--type", "types", multiple=True, metavar="TYPE",
    help="Show only events of TYPE: transition, commit, message, log, or a message's type.",
)  # fmt: skip
@click.option("-f", "--follow", is_flag=True, help="Continue with new events.")
@click.option(
    "--agent-log", "agent_lines", type=Number(min=0), default=0, metavar="N",
    help="Also show the last N lines of the worker's .worker.log.",
)  # fmt: skip
@click.pass_obj
def command(
    call: CommandLine,
    worker: str | None,
    *,
    limit: int | None,
    since_ms: int | None,
    types: tuple[str, ...],
    follow: bool,
    agent_lines: int,
) -> None:
    """Show events, newest last.

    Shows state changes, commits and messages of all workers, or of one worker and its task, in
    order of time. A terminal shows local times, and a long log in git's pager; other output has
    times in UTC. With --follow it continues until Ctrl-C, and also shows new lines of .worker.log:
    of the named worker, or else of all workers at work. If an agent of the named worker runs under
    supervision, its lines are shown from the start of its run, and its end ends the command. Output
    of a full-screen program, which ends few lines, is shown after a pause of a second. These lines
    have no time of their own. They get the time at which they were read, or with --agent-log the
    time of the file's last change. With --follow, --json prints JSON Lines.

    \b
      git worker log auth -n 20
      git worker log --since 2h --type review_result --type commit
      git worker log auth --follow
      git worker log --follow --json
    """
    if agent_lines and worker is None:
        raise Invalid(
            "--agent-log requires a worker", "git worker log --agent-log 20 <worker>", code="usage"
        )
    if limit is None and since_ms is None:
        limit = DEFAULT_LIMIT
    chosen: dict[str, Any] = {
        "limit": limit, "since_ms": since_ms or 0, "types": frozenset(types),
        "agent_lines": agent_lines,
    }  # fmt: skip
    if follow:
        from gitworker.cli.live.follow_log import follow_log  # 8 ms, only with --follow

        follow_log(call, worker, **chosen)
        return
    call.render(call.views().log(worker, **chosen), render_log, json_log, pages=True)
