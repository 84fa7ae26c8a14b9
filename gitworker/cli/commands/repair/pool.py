"""git worker pool."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.fields import short
from gitworker.cli.options import GitworkerCommand
from gitworker.errors import Invalid
from gitworker.rules_text import count_text
from gitworker.service.results_repair import pool_json


@click.command("pool", cls=GitworkerCommand)
@click.option("--fill", is_flag=True, help="Fill the pool and update it to the target now.")
@click.option("--empty", is_flag=True, help="Remove all parked worktrees.")
@click.pass_obj
def command(call: CommandLine, fill: bool, empty: bool) -> None:
    """Show, fill or empty the pool of parked worktrees.

    With `git worker config worktree.pool N`, a background job keeps N worktrees parked at the
    target's tip. spawn then only moves one into place, which takes a moment, however many files
    there are. A parked worktree in which a file was changed or left is moved to the trash and never
    handed out. The worktree of landed work returns to the pool with its ignored files, so that the
    next task can use its caches and build results; `git worker config worktree.reuse false` stops
    that.

    \b
      git worker config worktree.pool 2 && git worker pool --fill
      git worker pool --empty
    """
    if fill and empty:
        raise Invalid("--fill and --empty exclude each other", "git worker pool --help")
    service = call.service()
    if empty:
        removed = service.empty_pool()
        call.show(f"removed {count_text(removed, 'parked worktree')}", emptied=removed)
        return
    if fill:
        service.fill_pool()
    state = service.pool()
    lines = [f"{len(state.parked)} of {count_text(state.wanted, 'worktree')} parked"]
    lines += [
        f"{short(one.commit)}  {'at the tip' if one.commit == state.tip else 'behind'}"
        f"{'  with caches' if one.is_warm else ''}"
        for one in state.parked
    ]
    if state.working:
        lines.append("a background job is filling the pool")
    if not state.wanted:
        lines.append("enable it: git worker config worktree.pool 2")
    call.show(
        "\n".join(lines),
        **pool_json(state),
    )
