"""git worker verify."""

import click

from gitworker.app import require_target_tip
from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.commands.review.trusting import offer_trust
from gitworker.cli.fields import short
from gitworker.cli.options import GitworkerCommand, WorkerName, parse_worker_name
from gitworker.cli.output_progress import ProgressLine
from gitworker.errors import Invalid, NotFound
from gitworker.model.ids import Oid
from gitworker.observe.logs.tail import last_lines
from gitworker.service.results import verdict_json
from gitworker.session import Session
from gitworker.verify.verify import Verdict
from gitworker.verify.verify_once import verify_once
from gitworker.worktrees.pool.pool import lender

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
    untracked files except those of verify.keep. The default is the target's tip; a worker's name
    means its branch. The output goes to a log file. A tree that passed with the same commands and
    declared environment is not verified again. The exit status is 1 if the commands fail.

    \b
      git worker verify
      git worker verify auth --force
    """
    with ProgressLine(is_brief=True) as progress:
        session = call.open(progress)
        label, commit = _named(call, session, name)
        offer_trust(call, session, "verify")
        verdict = verify_once(session, commit, label=label, force=force, lend=lender(session))
    call.show(_text(label, commit, verdict), commit=commit, **verdict_json(verdict))
    if verdict.passed:
        return 0
    output.narrate("\n".join(f"  {line}" for line in last_lines(verdict.log, LINES_SHOWN)[0]))
    return 1


def _named(call: CommandLine, session: Session, name: str | None) -> tuple[str, Oid]:
    """Return a label for people, and the commit of the target, a worker or a revision."""
    if name is None:
        return session.target_name, require_target_tip(session)
    try:
        worker = call.worker(session, parse_worker_name(name))
    except (Invalid, NotFound):
        return name, session.git.require_oid(name)
    if worker.branch is None:
        raise NotFound(f"worker {worker.worker_id} has no branch now", "git worker list")
    return worker.worker_id, session.git.require_oid(worker.ref, "branch")


def _text(label: str, commit: Oid, verdict: Verdict) -> str:
    named = f"{label} at {short(commit)}"
    if not verdict.log:
        return f"{named}: no verify commands are set (setting: verify.commands)"
    if verdict.cached:
        return f"{named} has passed before\nlog: {verdict.log}"
    how = f"after {verdict.duration_ms / 1000:.1f} s"
    if not verdict.passed:
        return f"{named} failed {how}: {verdict.reason}\nlog: {verdict.log}"
    flaky = " on the second run: it is flaky" if verdict.flaky else ""
    return f"{named} passed {how}{flaky}\nlog: {verdict.log}"
