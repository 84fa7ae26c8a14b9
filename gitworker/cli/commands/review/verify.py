"""git worker verify."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.review.trusting import offer_trust
from gitworker.cli.fields import short
from gitworker.cli.options import GitworkerCommand, WorkerName
from gitworker.cli.output_progress import ProgressLine
from gitworker.observe.logs.tail import last_lines
from gitworker.service.results import verified_json
from gitworker.service.review.landing import Verified

LINES_SHOWN = 10


class WorkerOrRevision(WorkerName):
    """A name for a commit: a worker, or a revision as git reads it."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text as it is."""
        return value


@click.command("verify", cls=GitworkerCommand)
@click.argument("name", metavar="[WORKER|REV]", required=False, type=WorkerOrRevision())
@click.option("--force", is_flag=True, help="Run the commands even if this tree has passed.")
@click.pass_obj
def command(call: CommandLine, name: str | None, force: bool) -> int:
    """Run the verify commands on a commit.

    Runs them as the landing queue does: in a separate worktree at exactly that commit, without any
    untracked files except those of verify.keep. The default is the branch of the worker in whose
    worktree it runs, and elsewhere the target's tip; a worker's name means its branch. The output
    goes to a log file. A tree that passed with the same commands and declared environment is not
    verified again. The exit status is 1 if the commands fail.

    \b
      git worker verify
      git worker verify auth --force
    """
    offer_trust(call, "verify")
    with ProgressLine(is_brief=True) as progress:
        verified = call.service(progress).verify(name, force=force)
    call.show(_text(verified), **verified_json(verified))
    verdict = verified.verdict
    if verdict.passed:
        return 0
    output.narrate("\n".join(f"  {line}" for line in last_lines(verdict.log, LINES_SHOWN)[0]))
    return 1


def _text(verified: Verified) -> str:
    verdict = verified.verdict
    named = f"{verified.label} at {short(verified.commit)}"
    if not verdict.log:
        return f"{named}: no verify commands are set (setting: verify.commands)"
    if verdict.cached:
        return f"{named} has passed before\nlog: {verdict.log}"
    how = f"after {verdict.duration_ms / 1000:.1f} s"
    if not verdict.passed:
        return f"{named} failed {how}: {verdict.reason}\nlog: {verdict.log}"
    flaky = " on the second run: it is flaky" if verdict.flaky else ""
    return f"{named} passed {how}{flaky}\nlog: {verdict.log}"
