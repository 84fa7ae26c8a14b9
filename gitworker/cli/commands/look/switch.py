"""git worker switch."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, worker_argument
from gitworker.cli.shell.integration import is_integrated, loader
from gitworker.errors import Refused
from gitworker.observe.workers.path import json_path
from gitworker.rules_text import quoted


@click.command("switch", cls=GitworkerCommand)
@worker_argument(required=False)
@click.pass_obj
def command(call: CommandLine, worker: str | None) -> None:
    """Change to a worker's worktree, or to the main checkout.

    Without a worker, changes to the main checkout. The shell changes directory only with the shell
    integration (`git worker shell-init -h`). Without it, prints the cd command to use and exits
    with status 1.

    \b
      git worker switch auth
      git worker switch
    """
    service = call.service()
    found = service.main_checkout() if worker is None else service.path(worker)
    if call.as_json:
        output.document(json_path(found))
    elif is_integrated():
        output.answer_exact(found.path)
    else:
        raise Refused(
            f"without shell integration the shell stays here; load it: {loader()}",
            f"cd {quoted(found.path)}",
            code="no_integration",
        )
    if found.flaw is not None:
        output.narrate(f"{found.flaw}; git would not work there")
