"""git worker fsck."""

from typing import Any

import click

from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.fields import count
from gitworker.cli.options import Verb
from gitworker.fsck.checks.misplaced import open_repaired
from gitworker.fsck.fsck import Mended, Proof, mend, prove
from gitworker.fsck.fsck_finding import Finding
from gitworker.rules_text import printable


@click.command("fsck", cls=Verb)
@click.option("--repair", is_flag=True, help="Mend what can be mended without losing anything.")
@click.pass_obj
def command(call: Call, repair: bool) -> int:
    """Prove that nothing is lost and that everything agrees.

    Every commit that a worker ever made must be led to by the target, its branch or a rescue ref;
    what landed must be in the target, as such or by patch; refs, worktrees, rows, journals, views,
    logs, large payloads, trash and claims must agree. One line for each that does not, with what
    --repair does about it or the command that helps; the status is then 1. It changes nothing
    without --repair, which mends only what loses nothing and then looks again.

    \b
      git worker fsck
      git worker fsck --repair
    """
    session, aside = open_repaired(call.open_quickly, repair=repair)
    if session is None or not repair:
        proof = Proof(0, 0, tuple(aside)) if session is None else prove(session)
        call.show(_text(proof), **_fields(proof))
        return 1 if proof.findings else 0
    mended = mend(session, before=aside)
    call.show(_mended_text(mended), **_mended_fields(mended))
    return 1 if mended.left.findings else 0


def _text(proof: Proof) -> str:
    if not proof.findings:
        return f"{_looked_at(proof)}: whole"
    lines = [line for one in proof.findings for line in _lines(one)]
    return "\n".join((*lines, f"{_looked_at(proof)}: {count(len(proof.findings), 'finding')}"))


def _mended_text(mended: Mended) -> str:
    lines = [f"mended {one.code}: {one.what}" for one in mended.done]
    for one, error in mended.failed:
        lines.append(f"not mended {one.code}: {one.what}: {error.message}")
    return "\n".join((*lines, _text(mended.left)))


def _lines(one: Finding) -> tuple[str, str]:
    helps = f"--repair {one.help}" if one.mend is not None else f"hint: {one.help}"
    return printable(f"{one.code}: {one.what}"), printable(f"  {helps}")


def _looked_at(proof: Proof) -> str:
    return f"{count(proof.commits, 'commit')}, {count(proof.workers, 'worker')}"


def _fields(proof: Proof) -> dict[str, Any]:
    return {
        "commits": proof.commits,
        "workers": proof.workers,
        "whole": not proof.findings,
        "findings": [_finding(one) for one in proof.findings],
    }


def _mended_fields(mended: Mended) -> dict[str, Any]:
    return {
        **_fields(mended.left),
        "mended": [_finding(one) for one in mended.done],
        "failed": [
            {**_finding(one), "error": output.error_fields(error)} for one, error in mended.failed
        ],
    }


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "code": one.code,
        "where": one.where,
        "what": one.what,
        "mendable": one.mend is not None,
        "help": one.help,
    }
