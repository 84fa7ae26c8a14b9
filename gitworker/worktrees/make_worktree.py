"""Make the worktree of a spawn: a parked one from the pool, or a new one by `git worktree add`."""

from gitworker.session import Session
from gitworker.store.payloads.spawn_data import SpawnData
from gitworker.worktrees.pool.pool import take_parked


def make_worktree(session: Session, data: SpawnData, operation: int) -> tuple[str, bool]:
    """Make the branch and the worktree; the caller holds the worktree lock and rolls back.

    Returns the admin directory, and whether the worktree has the ignored files of an earlier task.
    Raises Refused if the disk has no room for the files.
    """
    taken = take_parked(session, data, operation)
    if taken is not None:
        return taken
    from gitworker.repo.worktrees.worktree_list import add_worktree  # 3 ms, as the next import
    from gitworker.worktrees.space.disk_space import require_space

    require_space(session, data.base)
    added = add_worktree(
        session.git,
        path=data.path,
        branch=data.branch,
        base=data.base,
        workers_setting=session.settings.checkout_workers or None,
    )
    return added.admin_dir, False
