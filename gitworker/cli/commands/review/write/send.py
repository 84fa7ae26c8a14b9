"""git worker review send."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import message_options, read_message
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.errors import Invalid
from gitworker.review.comments.comment_json import json_sent


@click.command("send", cls=GitworkerCommand)
@worker_argument()
@click.option("--comment", is_flag=True, help="Leave the work in review.  [default]")
@click.option(
    "--request-changes", "rejects", is_flag=True, help="Send the work back to its author."
)
@click.option("--approve", "approves", is_flag=True, help="Approve the work first.")
@message_options("A comment on the whole change, or the note of the approval.")
@click.pass_obj
def command(
    call: CommandLine,
    worker: str,
    *,
    comment: bool,
    rejects: bool,
    approves: bool,
    message: str | None,
    file: str | None,
) -> None:
    """Send all drafts to the author, with a verdict.

    Your drafts and the comments that you have reopened are delivered as one message
    (review_result). Each comment keeps its number. The author gets them through the inbox, its
    agent's hooks, MCP, or the prompt of its next run. --request-changes sends the work back, like
    `git worker reject`, also without a comment; --approve first approves it, like `git worker
    approve`, which is a message of its own, and sends nothing if that is refused.

    \b
      git worker review send auth
      git worker review send auth --request-changes -m 'Tests are missing'
      git worker review send auth --approve
    """
    if comment + rejects + approves > 1:
        raise Invalid("--comment, --request-changes and --approve exclude each other", code="usage")
    verdict = "changes_requested" if rejects else "approved" if approves else "commented"
    sent = call.service().send_review(
        worker, verdict=verdict, note=read_message(message, file) or ""
    )
    number = len(sent.comments)
    words = f"sent {number} comment{'s' if number != 1 else ''}; {sent.worker.in_words}"
    output.show(words, json_sent(sent), as_json=call.as_json)
