"""git worker mcp: the help of the command; `cli.hot.mcp` runs it."""

import click

from gitworker.cli.hot.mcp import serve
from gitworker.cli.options import GitworkerCommand


@click.command("mcp", cls=GitworkerCommand)
def command() -> int:
    """Serve tools to an agent by MCP, over standard input and output.

    An agent starts this program itself, outside its own sandbox. So it can commit and read its
    messages even if its shell may not write to the git directory. The server speaks the Model
    Context Protocol (2026-07-28 and the versions with a handshake) and ends with its input.

    In a worker's worktree, or with GITWORKER_ID, it serves that worker: whoami, inbox, send, ask,
    progress, commit, sync, conflicts, claim, release, done, fail. Elsewhere it serves an agent that
    directs workers: spawn, status, inbox, send, diff, comments, approve, reject, merge, queue,
    resume, wait. No argument of a tool changes the identity.

    \b
      claude mcp add gw -- git worker mcp
      git worker mcp </dev/null        check that it starts here
    """
    return serve()
