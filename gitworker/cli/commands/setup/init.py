"""git worker init."""

import click

from gitworker.app import prepare_state
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("init", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """Set up gitworker in this repository.

    Creates the state directory inside the git directory, the link .worker-state to it, and marked
    lines in .git/info/exclude. No committed file changes. It is safe to repeat, and every command
    that needs it runs it.

    \b
      git worker init
    """
    session = call.open()
    prepare_state(session.paths, session.repository, session.main_top)
    target = session.target_name
    call.show(
        f"ready: work lands on {target}; the state directory is {session.paths.root}",
        state=session.paths.root,
        target=target,
    )
