"""Delete half-made worktrees that a killed git left for verify or the pool.

Verify and the pool write no journal. git reads the HEAD of every worktree; that of a half-made one
names no object yet, so every `git rev-list --all` fails, even the user's.
"""

import os
from contextlib import suppress

from gitworker.errors import Conflict
from gitworker.repo.plumbing.disk import remove_tree
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.pool.parked import MAKING
from gitworker.repo.worktrees.worktree_list import is_half_made, linked_admins
from gitworker.session import Session
from gitworker.worktrees.pool.hand_out import pool_root


def drop_half_made(session: Session) -> None:
    """Unregister half-made worktrees of verify and the pool, recognised by their paths.

    Skips a verify worktree whose slot is in use, and parked worktrees while another command holds
    the worktree lock: another process may be making them.
    """
    places = linked_admins(session.repository.common_dir)
    half = {place: admin for place, admin in places.items() if is_half_made(admin)}
    if not half:
        return
    from gitworker.verify.verify_worktree import idle_slots  # 20 ms, only after a kill

    for slot in idle_slots(session):
        try:
            if os.path.realpath(slot.tree) in half:
                with suppress(OSError):  # a git process that outlived its command uses it
                    slot.discard()
        finally:
            slot.release()
    making = os.path.join(os.path.realpath(pool_root(session)), MAKING)
    parked = [admin for place, admin in half.items() if place.startswith(making)]
    if parked:
        with suppress(Conflict, OSError), hold(session.worktree_lock, name="worktree", timeout_s=0):
            for admin in parked:
                if is_half_made(admin):
                    remove_tree(admin)
