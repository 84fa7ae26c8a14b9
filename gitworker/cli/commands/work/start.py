"""git worker start."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.service.results import worker_json


@click.command("start", cls=GitworkerCommand)
@worker_argument(required=False)
@click.option("--pid", type=click.IntRange(min=1), metavar="N", help="The agent's process.")
@click.pass_obj
def command(call: CommandLine, worker: str | None, pid: int | None) -> None:
    """Start work on a task, and record its process.

    The worker is at work then. A background process then sends heartbeats as long as the recorded
    process runs. Without --pid that is the nearest ancestor that is not git, env, timeout or a
    shell that runs a script. If no such process exists, liveness depends on commands and commits. A
    process of the system or of another user is refused; process 1 counts as one of the system,
    unless it is an ancestor in a container.

    \b
      git worker start              in the worktree
      git worker start auth --pid 4711
    """
    started = call.service().start(worker, pid=pid)
    process = f" (process {started.pid})" if started.pid else ""
    call.show(f"{started.in_words}{process}", **worker_json(started))
