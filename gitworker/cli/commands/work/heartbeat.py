"""git worker heartbeat: the complete command; `cli.hot.heartbeat` is its fast path."""

import click

from gitworker.bus.heartbeat_message import HeartbeatReport, require_claims_kept
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.work.repeat_heartbeat import repeat_heartbeat
from gitworker.cli.hot.heartbeat import report_heartbeat
from gitworker.cli.hot.place import hot_context_of
from gitworker.cli.options import GitworkerCommand, Seconds, TaskId, worker_argument
from gitworker.errors import Invalid
from gitworker.lifecycle.take_up import take_up_by_heartbeat
from gitworker.store.heartbeats import STATUSES


@click.command("heartbeat", cls=GitworkerCommand)
@worker_argument(required=False)
@click.option("--status", type=click.Choice(STATUSES), help="The agent's status.")
@click.option("--progress", type=float, metavar="F", help="The progress, from 0 to 1.")
@click.option("--task", type=TaskId(), metavar="T", help="The current task; default: the worker's.")
@click.option("--every", type=Seconds(min=0.05), metavar="S", help="Send one every S seconds.")
@click.option("--pid", type=click.IntRange(min=1), metavar="N", help="With --every: until N ends.")
@click.pass_obj
def command(
    call: CommandLine,
    worker: str | None,
    status: str | None,
    progress: float | None,
    task: str | None,
    every: float | None,
    pid: int | None,
) -> None:
    """Send a heartbeat.

    Sends one heartbeat for the worker, which also renews its claims. Omitted values (status,
    progress) keep their last reported value. `--status blocked` is also published on the bus. A
    stale worker recovers, and a failed one resumes, unless it failed on purpose (by `fail`, a stop
    or a time limit). Prints nothing, except a warning if the worker's task was cancelled or reset.

    Exit status 3, after the heartbeat: the worker has lost a claim; the message names the new
    holder.

    \b
      git worker heartbeat --status working --progress 0.5
      git worker heartbeat auth --every 10 --pid $$ &
    """
    if (every is None) != (pid is None):
        raise Invalid(
            "--every and --pid require each other",
            f"git worker heartbeat{f' {worker}' if worker else ''} --every 10 --pid $$",
            code="usage",
        )
    session = call.open_quickly()
    place = hot_context_of(session)
    name = report_heartbeat(place, worker, HeartbeatReport(status, task, progress))
    take_up_by_heartbeat(session, call.worker(session, name))
    if every is not None and pid is not None:
        repeat_heartbeat(place, name, pid=pid, every_s=every)
    require_claims_kept(place.store, name)
    call.show("", worker=name)
