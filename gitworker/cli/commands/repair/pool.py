"""git worker pool."""

import click

from gitworker.cli.call import Call
from gitworker.cli.fields import count, short
from gitworker.cli.options import Verb
from gitworker.errors import Invalid

FILL_TIMEOUT_S = 600.0  # for another process that is at it


@click.command("pool", cls=Verb)
@click.option("--fill", is_flag=True, help="Bring the pool to its size and to the target now.")
@click.option("--empty", is_flag=True, help="Take all parked worktrees away.")
@click.pass_obj
def command(call: Call, fill: bool, empty: bool) -> None:
    """Show, fill or empty the pool of parked worktrees.

    With `git config worker.worktree.pool N`, N worktrees are kept parked at the target's tip in the
    background, so that spawn takes one by moving it and is done in a moment, however many files
    there are. One in which somebody has changed or left something is put into the trash and never
    handed out. A landed worktree comes back to the pool with its ignored files, so that caches and
    build results go on from task to task; `git config worker.worktree.reuse false` stops that.

    \b
      git config worker.worktree.pool 2 && git worker pool --fill
      git worker pool --empty
    """
    from gitworker.worktrees.pool.pool_care import empty_pool, keep_pool, pool_state

    if fill and empty:
        raise Invalid("--fill and --empty exclude each other", "git worker pool --help")
    session = call.open() if fill or empty else call.settle(create=True)[0]
    if empty:
        gone = empty_pool(session)
        call.show(f"{count(gone, 'parked worktree')} taken away", emptied=gone)
        return
    if fill:
        keep_pool(session, timeout_s=FILL_TIMEOUT_S)
    state = pool_state(session)
    lines = [f"{len(state.parked)} of {count(state.wanted, 'worktree')} parked"]
    lines += [
        f"{short(one.commit)}  {'at the tip' if one.commit == state.tip else 'behind'}"
        f"{'  with caches' if one.is_warm else ''}"
        for one in state.parked
    ]
    if state.working:
        lines.append("more is being done in the background")
    if not state.wanted:
        lines.append("switch it on: git config worker.worktree.pool 2")
    call.show(
        "\n".join(lines),
        wanted=state.wanted,
        tip=state.tip,
        parked=[
            {"path": one.tree, "commit": one.commit, "caches": one.is_warm} for one in state.parked
        ],
        working=state.working,
    )
