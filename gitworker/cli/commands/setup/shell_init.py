"""git worker shell-init."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.cli.shell.integration import FUNCTIONS, integration_script


@click.command("shell-init", cls=GitworkerCommand)
@click.argument("shell", type=click.Choice(sorted(FUNCTIONS)))
@click.pass_obj
def command(call: CommandLine, shell: str) -> None:
    """Print shell code that lets `switch` change directory.

    Supports bash, zsh and fish. The code defines the functions git and git-worker, which change the
    directory after `git worker switch` and `git worker spawn --cd` and pass on every other command
    unchanged, and it loads the completion. A function git of your own is kept; then use git-worker
    switch.

    \b
      eval "$(git worker shell-init bash)"       in ~/.bashrc
      eval "$(git worker shell-init zsh)"        in ~/.zshrc
      git worker shell-init fish | source        in config.fish
    """
    script = integration_script(shell)
    output.show(script, {"shell": shell, "script": script}, as_json=call.as_json)
