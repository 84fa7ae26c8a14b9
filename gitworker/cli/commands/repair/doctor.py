"""git worker doctor."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.errors import GitWorkerError
from gitworker.fsck.doctor import (
    Doctor,
    json_doctor,
    read_doctor,
    read_doctor_without_session,
    render_doctor,
)
from gitworker.paths import require_repository


@click.command("doctor", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> int:
    """Check this repository and suggest repairs.

    Changes nothing. Prints one line for each finding, with the command that helps. The exit status
    is 1 if a check failed. Works as far as possible on a damaged database, too.

    \b
      git worker doctor
    """
    found = _examine(call)
    call.render(found, render_doctor, json_doctor)
    return 0 if found.is_healthy else 1


def _examine(call: CommandLine) -> Doctor:
    try:
        return read_doctor(call.open_quickly())
    except GitWorkerError as error:
        return read_doctor_without_session(require_repository(), error)
