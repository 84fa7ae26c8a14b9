"""git worker land."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.review.trusting import offer_trust
from gitworker.cli.live.landing_results import LandingProgress, worst_status
from gitworker.cli.options import GitworkerCommand, Text, WorkerName
from gitworker.errors import Invalid
from gitworker.service.results import landed_json


@click.command("land", cls=GitworkerCommand)
@click.argument("workers", nargs=-1, type=WorkerName(), metavar="[WORKER]...")
@click.option(
    "--all", "everything", is_flag=True, help="Land all work that waits for review or is approved."
)
@click.option("--keep", is_flag=True, help="Keep worktrees and branches.")
@click.option("-m", "--message", type=Text(), metavar="TEXT", help="A note for the worker.")
@click.pass_obj
def command(
    call: CommandLine, workers: tuple[str, ...], everything: bool, keep: bool, message: str | None
) -> int:
    """Approve work if that is still open, and land it on the target.

    The same as `git worker approve` and then `git worker merge`, with the rules and refusals of
    both: an approval is for the commits that were handed in, and verify commands run before the
    target moves. A worker that is refused is reported and not merged; the other workers still land.
    The exit status is the worst one.

    \b
      git worker diff auth
      git worker land auth
      git worker land --all
    """
    if everything == bool(workers):
        raise Invalid("name workers, or use --all", "git worker inbox", code="usage")
    offer_trust(call, "verify")
    with LandingProgress(as_json=call.as_json) as progress:
        found = call.service(progress).land(
            workers, everything=everything, keep=keep, note=message or ""
        )
        results = progress.require_shown(found)
    if call.as_json:
        output.document({"results": [landed_json(result) for result in results]})
    elif everything and not results:
        output.answer("nothing waits for review, and nothing is approved")
    return worst_status(results)
