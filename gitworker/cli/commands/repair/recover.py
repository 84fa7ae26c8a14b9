"""git worker recover."""

from typing import Any

import click

from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.fields import count, worker_fields
from gitworker.cli.options import Verb, worker_argument
from gitworker.landing.pushing import recover_pushes
from gitworker.lifecycle.fail import recover
from gitworker.store.operations import Operation
from gitworker.worktrees.pool.half_made import drop_half_made


@click.command("recover", cls=Verb)
@worker_argument(required=False)
@click.pass_obj
def command(call: Call, worker: str | None) -> int:
    """Finish interrupted acts, or bring a stale worker back.

    Without a name: whatever a killed command left half done is finished or taken back, and said.
    Every other command does this too, but for a push that was cut off: only `recover` and `merge`
    ask the remote whether it arrived. An act for which neither is possible yet is left open: it is
    said with what is in the way, stops only what touches the same worker, and the status is not 0.
    With a name: a STALE worker goes back to where it went stale, to work or into review.

    \b
      git worker recover
      git worker recover auth
    """
    session, settled = call.settle(create=False)
    session.store.require_writable()
    drop_half_made(session)
    if worker is not None:
        recovered = recover(session, worker)
        call.show(f"{recovered.worker_id} is {recovered.state} again", **worker_fields(recovered))
        return 0
    if any(error.code == "push_unknown" for _, error in settled.left):
        settled = recover_pushes(session)
    ended = [_fields(act) for act in settled.ended]
    left = [{**_fields(act), "error": output.error_fields(error)} for act, error in settled.left]
    parts = [f"{count(len(ended), 'interrupted act')} settled"] if ended else []
    parts += [f"{count(len(left), 'interrupted act')} left open"] if left else []
    call.show(", ".join(parts) or "nothing was interrupted", settled=ended, left=left)
    return max((error.status for _, error in settled.left), default=0)


def _fields(act: Operation) -> dict[str, Any]:
    return {"kind": act.kind, "worker": act.worker_id, "task": act.task_id, "step": act.step}
