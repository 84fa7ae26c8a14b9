"""git worker wait."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, Seconds, worker_argument
from gitworker.service.results import waited_json

TIMEOUT_MAX_S = 7 * 86_400


@click.command("wait", cls=GitworkerCommand)
@worker_argument(required=False)
@click.option(
    "--for", "goal", metavar="STATE|verdict|landed",
    help="Default: until the worker is no longer at work.",
)  # fmt: skip
@click.option(
    "--timeout", "timeout_s", type=Seconds(0, TIMEOUT_MAX_S), metavar="S",
    help="Wait at most S seconds; then the exit status is 1.",
)  # fmt: skip
@click.pass_obj
def command(
    call: CommandLine, worker: str | None, goal: str | None, timeout_s: float | None
) -> None:
    """Wait until a worker has a verdict, has landed, or is in a state.

    Returns at once if that is so already: `verdict` is the verdict on the last hand-in, and any
    verdict counts. Prints the state, and the verdict if there is one. With --for the exit status is
    1 as soon as that cannot be reached any more: the worker fails, loses its task, or its
    supervised agent has ended without handing anything in. After the timeout it is always 1.

    Without --for it waits until the worker is no longer at work. That may be work that was handed
    in, a failure, or an agent that ended without result: the exit status is 0 in every case.

    \b
      git worker wait auth --for verdict --timeout 600
      git worker wait auth --for landed && make deploy
      git worker wait auth --for in_review
    """
    waited = call.service().wait(worker, goal, timeout_s=timeout_s, also={output.OUT: 0})
    verdict = waited.verdict or {}
    words = [str(verdict[key]) for key in ("note", "reason") if verdict.get(key)]
    given = str(verdict.get("verdict", "")).replace("_", " ")
    if given and not waited.in_words.endswith(f" {given}"):
        words.insert(0, given)
    shown = f" ({': '.join(words)})" if words else ""
    ended = ", and its agent has ended" if waited.agent_ended else ""
    call.show(f"{waited.in_words}{shown}{ended}", **waited_json(waited))
