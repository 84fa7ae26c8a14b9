"""git worker done."""

import click

from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.fields import count, short, worker_fields
from gitworker.cli.options import Text, Verb, worker_argument
from gitworker.errors import Invalid
from gitworker.workers.submit import Submission, submit


@click.command("done", cls=Verb)
@worker_argument(required=False)
@click.option("-m", "--message", type=Text(), metavar="TEXT", help="A note for the reviewer.")
@click.option("--commit", is_flag=True, help="Commit what is uncommitted, with -m as the message.")
@click.option("--pr", "pr_url", type=Text(), metavar="URL", help="The pull request's address.")
@click.pass_obj
def command(
    call: Call, worker: str | None, message: str | None, commit: bool, pr_url: str | None
) -> None:
    """Hand the work in for review.

    WORKING becomes IN_REVIEW. Refuses uncommitted work unless --commit says to commit it, a branch
    without a commit of its own, and an open rebase or merge. Says at once whether the branch would
    conflict with the target. `submit` is the same command.

    \b
      git worker done -m 'Works; the tests pass'
      git worker done --commit -m 'Add the login form'
    """
    if commit and not message:
        raise Invalid("--commit needs -m TEXT", "git worker done --commit -m TEXT", code="usage")
    submission = Submission(message or "", message if commit else None, pr_url)
    done = submit(call.open(), worker, submission)
    if done.conflicts:
        output.narrate("\n".join((
            "warning: it conflicts with the target as it is now, in:",
            *(f"  {name}" for name in done.conflicts),
            "hint: git worker sync",
        )))  # fmt: skip
    call.show(
        f"{done.worker.worker_id} is {done.worker.state}:"
        f" {count(done.commits, 'commit')} up to {short(done.commit)}",
        **worker_fields(done.worker),
        commit=done.commit,
        commits=done.commits,
        conflicts=list(done.conflicts),
    )
