"""git worker hooks status."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.repo.hooks.hook_status import HookStatus
from gitworker.service.results_repair import hooks_json

VERIFY = "/.verify/"  # the worktrees in which commits are verified


@click.command("status", cls=GitworkerCommand)
@click.pass_obj
def command(call: CommandLine) -> None:
    """Show the worktrees in which the hooks are installed.

    Also lists your own hooks, and the hooks of gitworker that another program has changed.

    \b
      git worker hooks status
    """
    found = call.views().hooks()
    call.show(_text(found), **hooks_json(found))


def _text(found: HookStatus) -> str:
    """Return the state of the hooks as text, one line for each worktree."""
    lines = [
        f"{'on' if tree.is_installed else 'off':<4}{tree.path}"
        f"{'  (for verify commands, which need none)' if VERIFY in tree.path else ''}"
        for tree in found.worktrees
    ] or ["there is no linked worktree"]
    if found.user_hooks.names:
        lines.append(f"your own hooks: {', '.join(sorted(found.user_hooks.names))}")
    is_missing = not found.is_present and any(tree.is_installed for tree in found.worktrees)
    if found.tampered or is_missing:
        names = ", ".join(found.tampered)
        lines.append(f"changed by another program: {names}" if names else "the hooks are missing")
        lines.append("repair: git worker hooks install")
    elif found.is_stale:
        lines.append("out of date: the next hook rewrites them")
    return "\n".join(lines)
