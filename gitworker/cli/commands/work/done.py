"""git worker done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.task.text_options import message_options, read_message
from gitworker.cli.fields import short
from gitworker.cli.options import GitworkerCommand, Text, worker_argument
from gitworker.errors import GitWorkerError, Invalid, as_gitworker_error
from gitworker.rules_text import count_text, quoted
from gitworker.service.results import submitted_json
from gitworker.service.service import Service

if TYPE_CHECKING:
    from gitworker.workers.submit import Submitted

MARKED_AT_MOST = 3  # files that a hint names


@click.command("done", cls=GitworkerCommand)
@worker_argument(required=False)
@message_options("A note for the reviewer.")
@click.option(
    "--commit", is_flag=True, help="Commit uncommitted work, with -m or -F as the message."
)
@click.option("--pr", "pr_url", type=Text(), metavar="URL", help="The pull request's address.")
@click.option("--push", is_flag=True, help="Publish the branch to the remote as well.")
@click.option("--remote", type=Text(), metavar="NAME", help="With --push: the remote.")
@click.pass_obj
def command(
    call: CommandLine,
    worker: str | None,
    message: str | None,
    file: str | None,
    commit: bool,
    pr_url: str | None,
    push: bool,
    remote: str | None,
) -> int:
    """Hand in the work for review.

    The worker is in review then. Refused if there is uncommitted work (--commit commits it), if the
    branch has no commit of its own, or during a rebase or merge. Warns if the branch would conflict
    with the target, and if conflict markers are committed in a file that it changes. In review,
    new commits or a new note renew the request; without either, nothing changes. Prints the
    reviewer's next command. A task that needs no change is ended by the worker's `fail`, with the
    reason, or by `cancel`.

    --push then publishes the branch under its own name: to --remote, or else to the remote for
    landings (merge.remote), to the branch's own remote, or to the only remote. A branch that was
    rebased replaces its earlier push, but never the commits of another user. If the push fails, the
    work is still handed in, and the exit status is 1.

    \b
      git worker done -m 'Works; the tests pass'
      git worker done --commit -m 'Add the login form'
      git worker done --push
    """
    this = f"git worker done{f' {worker}' if worker else ''}"
    message = read_message(message, file)
    if commit and not message:
        raise Invalid("--commit needs -m TEXT", f"{this} --commit -m <text>", code="usage")
    if remote is not None and not push:
        raise Invalid("--remote needs --push", f"{this} --push --remote {remote}")
    service = call.service()
    place = service.choose_remote(worker, remote) if push else None
    done = service.submit(
        worker, note=message or "", commit_message=message if commit else None, pr_url=pr_url
    )
    if done.conflicts:
        output.narrate("\n".join((
            "warning: the branch conflicts with the target in:",
            *(f"  {name}" for name in done.conflicts),
            f"hint: git worker sync --as {done.worker.worker_id}",
        )))  # fmt: skip
    if done.marked:
        files = " ".join(map(quoted, done.marked[:MARKED_AT_MOST]))
        output.narrate("\n".join((
            "warning: conflict markers (<<<<<<<) are committed in:",
            *(f"  {name}" for name in done.marked),
            f"hint: git worker diff {done.worker.worker_id} {files}",
        )))  # fmt: skip
    fields = submitted_json(done)
    error = None
    if place is not None:
        error = _publish(service, done.worker.worker_id, place)
        fields["pushed_to"] = None if error else place
        fields["push_error"] = error.to_json() if error else None
    if done.is_put_off:
        call.show(
            f"{done.worker.worker_id} is handed in later, up to {short(done.commit)}", **fields
        )
        return 0
    published = f", published to {place}" if place and error is None else ""
    call.show(
        f"{done.worker.in_words}:"
        f" {count_text(done.commits, 'commit')} up to {short(done.commit)}{published}{_next(done)}",
        **fields,
    )
    if error is None:
        return 0
    if not call.as_json:
        output.complain(error, about="handed in, but not published")
    return 1


def _next(done: Submitted) -> str:
    """Return a line with the next step, which is a review; "" without a review."""
    if not done.waits_for_review:
        return ""
    name = done.worker.worker_id
    return (
        f"\nnext: git worker review {name}   # for a reviewer; the verdict:"
        f" git worker wait {name} --for verdict"
    )


def _publish(service: Service, worker: str, remote: str) -> GitWorkerError | None:
    """Push the branch; return the error, since the work is handed in all the same."""
    try:
        service.publish(worker, remote)
    except (GitWorkerError, OSError) as error:
        return as_gitworker_error(error)
    return None
