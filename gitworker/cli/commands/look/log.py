"""git worker log."""

import click

from gitworker.cli.call import Call
from gitworker.cli.options import Number, Verb, worker_argument
from gitworker.errors import Invalid
from gitworker.observe.logs.log import DEFAULT_LIMIT, json_log, read_log, render_log


@click.command("log", cls=Verb)
@worker_argument(required=False)
@click.option(
    "-n", "--limit", type=Number(min=1), default=DEFAULT_LIMIT, show_default=True,
    metavar="N", help="At most this many.",
)  # fmt: skip
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens from now on.")
@click.option(
    "--agent-log", "agent_lines", type=Number(min=0), default=0, metavar="N",
    help="Also the last N lines of the worker's .worker.log.",
)  # fmt: skip
@click.pass_obj
def command(call: Call, worker: str | None, limit: int, follow: bool, agent_lines: int) -> None:
    """Show what happened, newest last.

    Changes of state, commits and messages of every worker, or of one and its task, in the order of
    time. With --follow it goes on until Ctrl-C, and tells also what agents write to .worker.log:
    the one worker's, else those of all that are at work. Such lines carry no time: they get the
    time at which they were seen, with --agent-log the time of the file's last change. With
    --follow, --json gives JSON Lines.

    \b
      git worker log auth -n 20
      git worker log auth --follow
      git worker log --follow --json
    """
    if agent_lines and worker is None:
        raise Invalid(
            "--agent-log is about one worker", "git worker log WORKER --agent-log 20", code="usage"
        )
    session = call.open_to_read()
    named = None if worker is None else call.worker(session, worker)
    log = read_log(session, named, limit=limit, agent_lines=agent_lines)
    if not follow:
        call.render(log, render_log, json_log)
        return
    from gitworker.cli.live.follow_log import follow_log  # 8 ms, only where it goes on

    follow_log(session, named, log, as_json=call.as_json)
