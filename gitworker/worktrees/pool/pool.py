"""The entrance to the pool: nothing is done, or imported, unless `worktree.pool` is set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from gitworker.session import Session
from gitworker.store.payloads.spawn_data import SpawnData

if TYPE_CHECKING:
    from gitworker.verify.verify_worktree import Lend

# Each import inside a function below takes 3 ms.


@contextmanager
def check_ahead(session: Session) -> Iterator[None]:
    """Check in the background, during the block, the parked worktree that `take` will choose."""
    if not session.settings.worktree_pool:
        yield
        return
    from gitworker.repo.pool.prefetched_status import end_dirty_checks
    from gitworker.worktrees.pool.hand_out import start_check

    start_check(session)
    try:
        yield
    finally:
        end_dirty_checks()


def pool_directory(session: Session) -> str | None:
    """Return the pool's directory, which a rollback needs; None without a pool."""
    if not session.settings.worktree_pool:
        return None
    from gitworker.worktrees.pool.hand_out import pool_root

    return pool_root(session)


def take_parked(session: Session, data: SpawnData, operation: int) -> tuple[str, bool] | None:
    """Turn a parked worktree into the one that a spawn makes; None if no worktree is usable.

    Returns its admin directory, and whether it has the ignored files of an earlier task. The caller
    holds the worktree lock.
    """
    if not session.settings.worktree_pool:
        return None
    from gitworker.worktrees.pool.hand_out import take

    return take(session, data, operation)


def refill_pool(session: Session) -> None:
    """Start the background job that fills the pool again, if worktrees are missing or outdated."""
    if session.settings.worktree_pool:
        from gitworker.worktrees.pool.hand_out import start_pool_job

        start_pool_job(session)


def lender(session: Session) -> Lend | None:
    """Return the function that gives verify a parked worktree; None without a pool."""
    if not session.settings.worktree_pool:
        return None
    from gitworker.worktrees.pool.hand_out import lend

    return partial(lend, session)
