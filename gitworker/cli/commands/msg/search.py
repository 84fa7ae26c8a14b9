"""git worker msg search."""

import click

from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.options import Verb

TELL_FROM = 50_000  # so many messages take a second to index


@click.command("search", cls=Verb)
@click.argument("words", nargs=-1, required=True, metavar="WORDS...")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, metavar="N",
    help="At most this many.",
)  # fmt: skip
@click.pass_obj
def command(call: Call, words: tuple[str, ...], limit: int) -> None:
    """Find messages by their words, newest first.

    A message is found by its type, sender, addressee and task, and by the keys and values of its
    payload, large ones included. All words have to occur, in any case and order; pars* stands for
    every word that begins so, and a quoted argument is a phrase. Everything else is taken as it
    stands. Messages that were pruned are in the archive instead.

    \b
      git worker msg search login failed
      git worker msg search 'exit status' auth pars* --limit 5
    """
    from gitworker.bus.search.search_messages import search  # 10 ms with what it needs

    session = call.open_quickly()
    found = search(session.store, session.paths, words, limit=limit, announce=_announce)
    lines = [_line(one.message, one.snippet) for one in found]
    messages = [{**one.message, "snippet": one.snippet} for one in found]
    call.show("\n".join(lines), messages=messages)
    if not found and not call.as_json:
        output.narrate("no message holds all of these words")


def _announce(number: int) -> None:
    if number >= TELL_FROM:
        output.narrate(f"indexing {number} messages first…")


def _line(message: dict[str, object], snippet: str) -> str:
    head = f"{message['seq']}  {message['ts']}  {message['from']} → {message['to'] or 'all'}"
    about = f"  {message['correlation_id']}" if message["correlation_id"] else ""
    line = f"{head}  {message['type']}{about}  {snippet}".rstrip()
    return line.replace("\n", " ").replace("\t", " ")
