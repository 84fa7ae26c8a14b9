"""git worker msg request."""

import click

from gitworker.bus.following.listen import listen
from gitworker.bus.request import wait_reply
from gitworker.bus.send import Draft
from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.hot.place import place_of
from gitworker.cli.hot.send import send_from
from gitworker.cli.options import Seconds, Verb

TIMEOUT_S = 60.0
TIMEOUT_MAX_S = 86_400


@click.command("request", cls=Verb)
@click.argument("type", metavar="TYPE")
@click.argument("payload", metavar="[PAYLOAD|@FILE|-]", required=False)
@click.option("--to", metavar="A", required=True, help="The worker or task that is asked.")
@click.option(
    "--timeout", "timeout_s", type=Seconds(0, TIMEOUT_MAX_S), default=TIMEOUT_S,
    show_default=True, metavar="S", help="Wait S seconds for the answer.",
)  # fmt: skip
@click.option("--id", metavar="U", help="The message's id: asked again with it, it only waits.")
@click.option("--correlation", metavar="C", help="What it is about; default: the worktree's task.")
@click.pass_obj
def command(
    call: Call,
    type: str,
    payload: str | None,
    to: str,
    timeout_s: float,
    id: str | None,
    correlation: str | None,
) -> None:
    """Send a message and print the answer to it.

    An answer is a message with `--reply-to` the id of the question. It is printed as one line of
    JSON, and stays unread for poll. Exit status 3 where none has come in time; the question is on
    the bus all the same.

    \b
      git worker msg request x-review '{"file": "src/app.py"}' --to docs --timeout 300
    """
    session = call.open()
    draft = Draft(type, payload, to=to, id=id, correlation_id=correlation)
    with listen(session) as waker:
        asked = send_from(place_of(session), draft)
        reply = wait_reply(
            session.store, session.paths, waker, asked, agent=session.actor, timeout_s=timeout_s
        )
    if call.as_json:
        output.document(reply)
    else:
        output.answer_line(output.json_line(reply))
