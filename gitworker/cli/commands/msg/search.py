"""git worker msg search."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.service.results import to_json


@click.command("search", cls=GitworkerCommand)
@click.argument("words", nargs=-1, required=True, metavar="WORDS...")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, metavar="N",
    help="Print at most N messages.",
)  # fmt: skip
@click.pass_obj
def command(call: CommandLine, words: tuple[str, ...], limit: int) -> None:
    """Search messages by words, newest first.

    Searches the type, sender, recipient and task, and the keys and values of the payload, including
    large ones. A message must contain all words, in any case and order. pars* matches every word
    that begins with pars, and a quoted argument is a phrase. All other characters are taken
    literally. Pruned messages are only in the archive.

    \b
      git worker msg search login failed
      git worker msg search 'exit status' auth pars* --limit 5
    """
    found = call.service().search(words, limit=limit)
    lines = [_line(one.message, one.snippet) for one in found]
    call.show("\n".join(lines), messages=to_json(found))
    if not found and not call.as_json:
        output.narrate("no message contains all of these words")


def _line(message: dict[str, object], snippet: str) -> str:
    head = f"{message['seq']}  {message['ts']}  {message['from']} → {message['to'] or 'all'}"
    about = f"  {message['correlation_id']}" if message["correlation_id"] else ""
    line = f"{head}  {message['type']}{about}  {snippet}".rstrip()
    return line.replace("\n", " ").replace("\t", " ")
