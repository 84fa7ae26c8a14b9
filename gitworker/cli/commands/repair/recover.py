"""git worker recover."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.rules_text import count_text
from gitworker.service.results import worker_json
from gitworker.service.results_repair import settled_json


@click.command("recover", cls=GitworkerCommand)
@worker_argument(required=False)
@click.pass_obj
def command(call: CommandLine, worker: str | None) -> int:
    """Finish interrupted operations, or reactivate a stale worker.

    Without a name, finishes or rolls back every operation that a killed command left unfinished,
    and reports it. Every other command does this as well, except for an interrupted push: only
    `recover` and `merge` ask the remote whether it arrived. An operation that can be neither
    finished nor rolled back yet stays open. It is reported with the obstacle and blocks only
    operations on the same worker, and the exit status is not 0. A heartbeat daemon that was killed
    is started again. With a name, returns a stale worker to its earlier state: to work or into
    review.

    \b
      git worker recover
      git worker recover auth
    """
    service = call.service()
    if worker is not None:
        recovered = service.recover(worker)
        call.show(recovered.in_words, **worker_json(recovered))
        return 0
    settled = service.recover_interrupted()
    call.show(_text(len(settled.ended), len(settled.left)), **settled_json(settled))
    return max((error.status for _, error in settled.left), default=0)


def _text(ended: int, left: int) -> str:
    if not ended and not left:
        return "no operation was interrupted"
    still_open = f"{left} {'is' if left == 1 else 'are'} still open"
    if not ended:
        return f"{count_text(left, 'interrupted operation')} still open"
    settled = f"settled {count_text(ended, 'interrupted operation')}"
    return f"{settled}; {still_open}" if left else settled
