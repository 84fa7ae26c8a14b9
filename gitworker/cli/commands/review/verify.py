"""git worker verify."""

from typing import Any

import click

from gitworker.app import require_target_tip
from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.commands.review.trusting import offer_trust
from gitworker.cli.fields import short
from gitworker.cli.options import Verb, WorkerName, parse_worker_name
from gitworker.cli.output_progress import ProgressLine
from gitworker.errors import Invalid, NotFound
from gitworker.model.ids import Branch, Oid, ref_of
from gitworker.observe.logs.tail import last_lines
from gitworker.session import Session
from gitworker.verify.verify import Verdict
from gitworker.verify.verify_once import verify_once
from gitworker.worktrees.pool.lend_to_verify import lender

LINES_SHOWN = 10


class WorkerOrRevision(WorkerName):
    """What names a commit: a worker, or a revision as git takes it."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text as it is."""
        return value


@click.command("verify", cls=Verb)
@click.argument("what", metavar="[WORKER|REV]", required=False, type=WorkerOrRevision())
@click.option("--force", is_flag=True, help="Run the commands even if this tree has passed.")
@click.pass_obj
def command(call: Call, what: str | None, force: bool) -> int:
    """Run the verify commands on a commit.

    As the landing queue runs them: in a worktree of their own, at exactly that commit, clean of
    everything that git does not track but verify.keep. Without a name it is the target's tip; a
    worker's name means its branch. The output goes to a log file. A tree that has passed with the
    same commands and declared environment does not run again. The status is 1 where it fails.

    \b
      git worker verify
      git worker verify auth --force
    """
    session = call.open()
    name, commit = _named(call, session, what)
    offer_trust(call, session, "verify")
    with ProgressLine() as line:
        verdict = verify_once(
            session, commit, label=name, force=force, show=line.show, lend=lender(session)
        )
    call.show(_text(name, commit, verdict), **_fields(commit, verdict))
    if verdict.passed:
        return 0
    output.narrate("\n".join(f"  {line}" for line in last_lines(verdict.log, LINES_SHOWN)[0]))
    return 1


def _named(call: Call, session: Session, what: str | None) -> tuple[str, Oid]:
    """Return a name for people, and the commit: the target's, a worker's, or a revision's."""
    if what is None:
        return session.target.removeprefix("refs/heads/"), require_target_tip(session)
    try:
        worker = call.worker(session, parse_worker_name(what))
    except (Invalid, NotFound):
        return what, session.git.require_oid(what)
    if worker.branch is None:
        raise NotFound(f"worker {worker.worker_id} has no branch now", "git worker list")
    return worker.worker_id, session.git.require_oid(ref_of(Branch(worker.branch)), "branch")


def _text(name: str, commit: Oid, verdict: Verdict) -> str:
    named = f"{name} at {short(commit)}"
    if not verdict.log:
        return f"{named}: there is nothing to run (setting: verify.commands)"
    if verdict.cached:
        return f"{named} has passed before\nlog: {verdict.log}"
    how = f"after {verdict.duration_ms / 1000:.1f} s"
    if not verdict.passed:
        return f"{named} failed {how}: {verdict.reason}\nlog: {verdict.log}"
    flaky = ", the second time: it is flaky" if verdict.flaky else ""
    return f"{named} passed {how}{flaky}\nlog: {verdict.log}"


def _fields(commit: Oid, verdict: Verdict) -> dict[str, Any]:
    return {"commit": commit, **verdict._asdict(), "log": verdict.log or None}
