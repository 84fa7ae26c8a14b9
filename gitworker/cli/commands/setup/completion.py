"""git worker completion."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.cli.shell.completion import SCRIPTS


@click.command("completion", cls=GitworkerCommand)
@click.argument("shell", type=click.Choice(sorted(SCRIPTS)))
@click.pass_obj
def command(call: CommandLine, shell: str) -> None:
    """Print the completion script for a shell.

    Supports bash, zsh and fish. It completes git-worker, and git worker if git's own completion is
    loaded.

    \b
      eval "$(git worker completion bash)"       in ~/.bashrc
      eval "$(git worker completion zsh)"        in ~/.zshrc
      git worker completion fish | source        in config.fish
    """
    script = SCRIPTS[shell]
    output.show(script, {"shell": shell, "script": script}, as_json=call.as_json)
