"""Who lends verify a parked worktree: the pool, where there is one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gitworker.session import Session

if TYPE_CHECKING:
    from gitworker.verify.verify_worktree import Lend


def lender(session: Session) -> Lend | None:
    """Return what makes a parked worktree one for verify; None without a pool."""
    if not session.settings.worktree_pool:
        return None
    from gitworker.worktrees.pool.hand_out import lend  # 3 ms, only where there is a pool

    return partial(lend, session)
