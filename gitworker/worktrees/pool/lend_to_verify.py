"""Let verify borrow a parked worktree if there is a pool."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gitworker.session import Session

if TYPE_CHECKING:
    from gitworker.verify.verify_worktree import Lend


def lender(session: Session) -> Lend | None:
    """Return the function that lends verify a parked worktree; None without a pool."""
    if not session.settings.worktree_pool:
        return None
    from gitworker.worktrees.pool.hand_out import lend  # 3 ms, only with a pool

    return partial(lend, session)
