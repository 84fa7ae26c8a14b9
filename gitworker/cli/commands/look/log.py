"""git worker log."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Number, worker_argument
from gitworker.errors import Invalid
from gitworker.observe.logs.log import DEFAULT_LIMIT, json_log, render_log


@click.command("log", cls=GitworkerCommand)
@worker_argument(required=False)
@click.option(
    "-n", "--limit", type=Number(min=1), default=DEFAULT_LIMIT, show_default=True,
    metavar="N", help="Show at most N events.",
)  # fmt: skip
@click.option("-f", "--follow", is_flag=True, help="Continue with new events.")
@click.option(
    "--agent-log", "agent_lines", type=Number(min=0), default=0, metavar="N",
    help="Also show the last N lines of the worker's .worker.log.",
)  # fmt: skip
@click.pass_obj
def command(
    call: CommandLine, worker: str | None, limit: int, follow: bool, agent_lines: int
) -> None:
    """Show events, newest last.

    Shows state changes, commits and messages of all workers, or of one worker and its task, in
    order of time. With --follow it continues until Ctrl-C, and also shows new lines of .worker.log:
    of the named worker, or else of all workers at work. These lines have no time of their own. They
    get the time at which they were read, or with --agent-log the time of the file's last change.
    With --follow, --json prints JSON Lines.

    \b
      git worker log auth -n 20
      git worker log auth --follow
      git worker log --follow --json
    """
    if agent_lines and worker is None:
        raise Invalid(
            "--agent-log requires a worker", "git worker log WORKER --agent-log 20", code="usage"
        )
    log = call.service().log(worker, limit=limit, agent_lines=agent_lines)
    if not follow:
        call.render(log, render_log, json_log)
        return
    from gitworker.cli.live.follow_log import follow_log  # 8 ms, only with --follow

    session = call.open_to_read()
    named = None if worker is None else call.worker(session, worker)
    follow_log(session, named, log, as_json=call.as_json)
