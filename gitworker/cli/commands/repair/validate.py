"""git worker validate."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.errors import NotFound
from gitworker.states.log.validate import LogFinding, validate_log


@click.command("validate", cls=GitworkerCommand)
@click.argument("file", type=click.Path())
@click.pass_obj
def command(call: CommandLine, file: str) -> int:
    """Check a transition log against every rule.

    FILE is a log such as .worker-state/transitions.jsonl. Prints one line for each broken rule,
    `FILE:LINE: rule: message`; the exit status is then 1. Needs no repository.

    \b
      git worker validate .worker-state/transitions.jsonl
    """
    findings = _read_findings(file)
    text = "\n".join(f"{file}:{f.line_number}: {f.rule}: {f.message}" for f in findings)
    fields = [{"line": f.line_number, "rule": f.rule, "message": f.message} for f in findings]
    output.show(text, {"file": file, "findings": fields}, as_json=call.as_json)
    return 1 if findings else 0


def _read_findings(file: str) -> list[LogFinding]:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as lines:
            return validate_log(lines)
    except OSError as error:
        raise NotFound(f"cannot read {file}: {error.strerror}") from error
