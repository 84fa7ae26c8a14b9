"""git worker msg show."""

import json

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand


@click.command("show", cls=GitworkerCommand)
@click.argument("name", metavar="SEQ|ID")
@click.pass_obj
def command(call: CommandLine, name: str) -> None:
    """Show one message.

    Finds it by its position on the bus or by its id, for any recipient. No cursor moves.

    \b
      git worker msg show 42
      git worker msg show 01a1fca8-7854-7585-b0e5-80f6c3ddf6ad --json
    """
    message = call.service().message(name)
    if call.as_json:
        output.document(message)
    else:
        output.answer(json.dumps(message, indent=2, ensure_ascii=False))
