"""git worker web."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.live.web_page import serve_page
from gitworker.cli.options import GitworkerCommand
from gitworker.errors import Invalid


@click.command("web", cls=GitworkerCommand)
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="N",
    help="Listen on this port of 127.0.0.1 (default: a free one).",
)  # fmt: skip
@click.option(
    "--socket", "path", type=click.Path(), metavar="PATH",
    help="Listen on a socket instead, for `ssh -L`.",
)  # fmt: skip
@click.option("--no-open", is_flag=True, help="Print the address only.")
@click.pass_obj
def command(call: CommandLine, port: int | None, path: str | None, no_open: bool) -> None:
    """Show a page with the board, the inbox, reviews and the queue.

    The page shows every worker by what it needs, and changes with the repository. Its buttons are
    the commands of this program: approve, reject, land, undo, reply, pause and others, recorded as
    the person of git's user.name. The browser opens once; the address is printed, too. Each address
    opens one session and works once. Ctrl-C ends the server and its sessions.

    It listens on 127.0.0.1 only, or on a socket with --socket. On another machine:

    \b
      ssh -L 8080:/tmp/gw.sock host        then, there:
      git worker web --socket /tmp/gw.sock

    The page needs `pip install 'gitworker[web]'`.

    \b
      git worker web
      git worker web --port 8080 --no-open
    """
    if port is not None and path is not None:
        raise Invalid("--port and --socket exclude each other", code="usage")
    serve_page(call, port=port or 0, path=path, opens=not no_open and path is None)
