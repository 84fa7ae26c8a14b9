"""git worker recover."""

from typing import Any

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.fields import count
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.landing.pushing import recover_pushes
from gitworker.lifecycle.fail import recover
from gitworker.service.results import worker_json
from gitworker.store.operations import Operation
from gitworker.worktrees.pool.half_made import drop_half_made


@click.command("recover", cls=GitworkerCommand)
@worker_argument(required=False)
@click.pass_obj
def command(call: CommandLine, worker: str | None) -> int:
    """Finish interrupted operations, or reactivate a stale worker.

    Without a name, finishes or rolls back every operation that a killed command left unfinished,
    and reports it. Every other command does this as well, except for an interrupted push: only
    `recover` and `merge` ask the remote whether it arrived. An operation that can be neither
    finished nor rolled back yet stays open. It is reported with the obstacle and blocks only
    operations on the same worker, and the exit status is not 0. With a name, returns a STALE worker
    to its earlier state: to work or into review.

    \b
      git worker recover
      git worker recover auth
    """
    session, settled = call.settle(create=False)
    session.store.require_writable()
    drop_half_made(session)
    if worker is not None:
        recovered = recover(session, worker)
        call.show(f"{recovered.worker_id} is {recovered.state} again", **worker_json(recovered))
        return 0
    if any(error.code == "push_unknown" for _, error in settled.left):
        settled = recover_pushes(session)
    ended = [_fields(operation) for operation in settled.ended]
    left = [{**_fields(operation), "error": error.to_json()} for operation, error in settled.left]
    call.show(_text(len(ended), len(left)), settled=ended, left=left)
    return max((error.status for _, error in settled.left), default=0)


def _text(ended: int, left: int) -> str:
    if not ended and not left:
        return "no operation was interrupted"
    still_open = f"{left} {'is' if left == 1 else 'are'} still open"
    if not ended:
        return f"{count(left, 'interrupted operation')} still open"
    settled = f"settled {count(ended, 'interrupted operation')}"
    return f"{settled}; {still_open}" if left else settled


def _fields(operation: Operation) -> dict[str, Any]:
    return {
        "kind": operation.kind,
        "worker": operation.worker_id,
        "task": operation.task_id,
        "step": operation.step,
    }
