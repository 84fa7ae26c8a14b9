"""git worker fsck."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.fsck.finding import Finding
from gitworker.fsck.fsck import FsckReport, RepairReport
from gitworker.rules_text import count_text, printable
from gitworker.service.results_repair import fsck_json


@click.command("fsck", cls=GitworkerCommand)
@click.option(
    "--repair", is_flag=True, help="Repair every finding that can be repaired without loss."
)
@click.pass_obj
def command(call: CommandLine, repair: bool) -> int:
    """Check that no work is lost and that all records agree.

    Every commit that a worker ever made must be reachable from the target, its branch or a rescue
    ref. Landed work must be in the target, as the same commit or as an equal patch. Refs,
    worktrees, rows, journals, views, logs, large payloads, trash and claims must agree. Prints one
    line for each finding, with its repair by --repair or the command that helps; the exit status is
    then 1. Changes nothing without --repair, which makes only repairs without loss and then checks
    again.

    \b
      git worker fsck
      git worker fsck --repair
    """
    if not repair:
        report = call.service().fsck()
        call.show(_text(report), **fsck_json(report))
        return 1 if report.findings else 0
    repaired = call.service().repair()
    call.show(_repair_text(repaired), **fsck_json(repaired))
    return 1 if repaired.left.findings else 0


def _text(report: FsckReport) -> str:
    if not report.findings:
        return f"{_checked(report)}: no findings"
    lines = [line for one in report.findings for line in _lines(one)]
    return "\n".join((*lines, f"{_checked(report)}: {count_text(len(report.findings), 'finding')}"))


def _repair_text(repaired: RepairReport) -> str:
    lines = [f"repaired {one.code}: {one.message}" for one in repaired.done]
    for one, error in repaired.failed:
        lines.append(printable(f"not repaired {one.code}: {one.message}: {error.message}"))
        if error.hint:
            lines.append(printable(f"  hint: {error.hint}"))
    return "\n".join((*lines, _text(repaired.left)))


def _lines(one: Finding) -> tuple[str, str]:
    helps = f"--repair {one.hint}" if one.repair is not None else f"hint: {one.hint}"
    return printable(f"{one.code}: {one.message}"), printable(f"  {helps}")


def _checked(report: FsckReport) -> str:
    return f"{count_text(report.commits, 'commit')}, {count_text(report.workers, 'worker')}"
