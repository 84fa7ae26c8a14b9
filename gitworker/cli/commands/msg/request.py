"""git worker msg request."""

import click

from gitworker.bus.following.listen import listen
from gitworker.bus.request import wait_reply
from gitworker.bus.send import MessageDraft
from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.hot.place import hot_context_of
from gitworker.cli.hot.send import send_from
from gitworker.cli.options import GitworkerCommand, Seconds
from gitworker.lifecycle.take_up import publish_commits

TIMEOUT_S = 60.0
TIMEOUT_MAX_S = 86_400


@click.command("request", cls=GitworkerCommand)
@click.argument("type", metavar="TYPE")
@click.argument("payload", metavar="[PAYLOAD|@FILE|-]", required=False)
@click.option("--to", metavar="A", required=True, help="The worker or task to ask.")
@click.option(
    "--timeout", "timeout_s", type=Seconds(0, TIMEOUT_MAX_S), default=TIMEOUT_S,
    show_default=True, metavar="S", help="Wait up to S seconds for the reply.",
)  # fmt: skip
@click.option("--id", metavar="U", help="The message's id. If it was sent before, only wait.")
@click.option("--correlation", metavar="C", help="The subject; default: the worktree's task.")
@click.pass_obj
def command(
    call: CommandLine,
    type: str,
    payload: str | None,
    to: str,
    timeout_s: float,
    id: str | None,
    correlation: str | None,
) -> None:
    """Send a message and print its reply.

    A reply is a message that was sent with `--reply-to` and the id of the question. It is printed
    as one line of JSON and stays unread for poll. Exit status 3 if no reply comes in time; the
    question stays on the bus.

    \b
      git worker msg request x-review '{"file": "app.py"}' --to docs
    """
    session = call.open()
    draft = MessageDraft(type, payload, to=to, id=id, correlation_id=correlation)
    with listen(session, publish_commits) as waker:
        asked = send_from(hot_context_of(session), draft)
        reply = wait_reply(
            session.store, session.paths, waker, asked, agent=session.actor, timeout_s=timeout_s
        )
    if call.as_json:
        output.document(reply)
    else:
        output.answer_line(output.json_line(reply))
