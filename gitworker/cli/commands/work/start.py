"""git worker start."""

import click

from gitworker.cli.call import Call
from gitworker.cli.fields import worker_fields
from gitworker.cli.options import Verb, worker_argument
from gitworker.workers.start import start


@click.command("start", cls=Verb)
@worker_argument(required=False)
@click.option("--pid", type=click.IntRange(min=1), metavar="N", help="The process that works.")
@click.pass_obj
def command(call: Call, worker: str | None, pid: int | None) -> None:
    """Say that work has begun, and by which process.

    ASSIGNED becomes WORKING. One background process then beats for as long as the process runs.
    Without --pid that is the nearest ancestor which is not git, env, timeout or a shell that runs
    a script; where there is none, liveness goes by commands and commits.

    \b
      git worker start              in the worktree
      git worker start auth --pid 4711
    """
    started = start(call.open(), worker, pid=pid)
    process = f" (process {started.pid})" if started.pid else ""
    call.show(f"{started.worker_id} is {started.state}{process}", **worker_fields(started))
