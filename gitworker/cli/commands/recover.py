"""git worker recover."""

import click

from gitworker.cli.call import Call
from gitworker.cli.fields import count, worker_fields
from gitworker.cli.options import Verb, worker_argument
from gitworker.workers.fail import recover


@click.command("recover", cls=Verb)
@worker_argument(required=False)
@click.pass_obj
def command(call: Call, worker: str | None) -> None:
    """Finish interrupted acts, or bring a stale worker back.

    Without a name: whatever a killed command left half done is finished or taken back, and said.
    Every other command does this too. With a name: a STALE worker goes back to where it went stale,
    to work or into review.

    \b
      git worker recover
      git worker recover auth
    """
    session, settled = call.settle(create=False)
    if worker is not None:
        recovered = recover(session, worker)
        call.show(f"{recovered.worker_id} is {recovered.state} again", **worker_fields(recovered))
        return
    acts = [
        {"kind": act.kind, "worker": act.worker_id, "task": act.task_id, "step": act.step}
        for act in settled
    ]
    told = f"{count(len(acts), 'interrupted act')} settled" if acts else "nothing was interrupted"
    call.show(told, settled=acts)
