"""git worker verify."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.review.trusting import offer_trust
from gitworker.cli.fields import short
from gitworker.cli.options import GitworkerCommand, WorkerName
from gitworker.cli.output_progress import ProgressLine
from gitworker.fleet.verify_offered import json_prefix
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
@click.option(
    "--fleet", is_flag=True, help="Verify what other machines of the fleet are about to land."
)
@click.pass_obj
def command(call: CommandLine, name: str | None, force: bool, fleet: bool) -> int:
    """Run the verify commands on a commit.

    Runs them as the landing queue does: in a separate worktree at exactly that commit, without any
    untracked files except those of verify.keep. The default is the branch of the worker in whose
    worktree it runs, and elsewhere the target's tip; a worker's name means its branch. The output
    goes to a log file. A tree that passed with the same commands and declared environment is not
    verified again. The exit status is 1 if the commands fail.

    With --fleet it helps another machine that searches a window for the worker that fails: it
    verifies parts of the window until no more verdicts are wanted. The exit status is 0 then. A
    `run --land` does this by itself.

    \b
      git worker verify
      git worker verify auth --force
      git worker verify --fleet
    """
    if fleet and (name or force):
        raise click.UsageError("--fleet takes neither a worker nor --force")
    offer_trust(call, "verify")
    if fleet:
        return _verify_offered(call)
    with ProgressLine(is_brief=True) as progress:
        verified = call.service(progress).verify(name, force=force)
    call.show(_text(verified), **verified_json(verified))
    verdict = verified.verdict
    if verdict.passed:
        return 0
    output.narrate("\n".join(f"  {line}" for line in last_lines(verdict.log, LINES_SHOWN)[0]))
    return 1


def _verify_offered(call: CommandLine) -> int:
    with ProgressLine(is_brief=True) as progress:
        found = call.service(progress).verify_offered()
    lines = [
        f"window {one.window} of {one.machine}, first {one.length}:"
        f" {'passed' if one.verdict.passed else f'failed: {one.verdict.reason}'}"
        for one in found
    ]
    text = "\n".join(lines) or "no other machine wants a verdict now"
    call.show(text, verified=[json_prefix(one) for one in found])
    return 0


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
