"""Fill the pool in a background job of low priority, one at a time.

The job makes parked worktrees, moves them to the target's tip, and deletes surplus ones. Landed
worktrees return from the trash and replace those without caches.
"""

import os
from contextlib import suppress
from typing import NamedTuple

from gitworker import clock
from gitworker.errors import Conflict
from gitworker.model.ids import Oid
from gitworker.paths import open_regular
from gitworker.repo.plumbing.disk import remove_tree
from gitworker.repo.plumbing.git import GitFailed
from gitworker.repo.plumbing.repository_lock import hold, is_held
from gitworker.repo.pool.parked import (
    LENT,
    MAKING,
    MOVING,
    READY,
    RETURNED,
    ParkedWorktree,
    Pool,
    advance,
    claim,
    drop_registration,
    is_clean,
    is_returnable,
    list_names,
    list_parked,
    make,
    park_removed,
)
from gitworker.repo.rescue.trash import (
    DOOMED,
    RESUMED_AFTER_S,
    TrashEntry,
    delete_in_background,
    list_trash,
)
from gitworker.session import Session
from gitworker.worktrees.pool.hand_out import (
    BELL,
    RETURNING,
    open_pool,
    target_tip,
    update_list,
)
from gitworker.worktrees.space.disk_space import require_space
from gitworker.worktrees.trashing import delete_landed, guard, set_aside, trash_root
from gitworker.worktrees.worktree_root import ready_root

ROUNDS = 20
PATIENCE_S = 30  # for a command that probes the lock, which takes microseconds


class PoolState(NamedTuple):
    """The number of parked worktrees wanted, and those that exist, at the target's tip or not."""

    wanted: int
    tip: Oid | None
    parked: tuple[ParkedWorktree, ...]
    working: bool


def keep_pool(session: Session, *, timeout_s: float = 0) -> None:
    """Fill the pool with the configured number of unchanged worktrees at the target's tip.

    Returns if another process has held the pool's lock for `timeout_s`; that process also handles
    requests made in the meantime. A command that only probes the lock does not prevent the work.
    """
    for _ in range(ROUNDS):
        bell_ns = _read_bell_ns(session)
        try:
            with hold(_lock(session), name="pool", timeout_s=timeout_s):
                _keep(session)
        except Conflict:
            if timeout_s < PATIENCE_S and not is_held(_lock(session)):
                keep_pool(session, timeout_s=PATIENCE_S)
            return
        if bell_ns == _read_bell_ns(session):
            return


def empty_pool(session: Session) -> int:
    """Delete every parked worktree; return their number. The next spawn fills the pool again."""
    with hold(_lock(session), name="pool"):
        pool = open_pool(session)
        _sweep(session, pool)
        parked = list_parked(pool)
        for one in parked:
            _retire(session, pool, one)
        if not list_names(pool):  # only the guard against `git clean` is left
            remove_tree(pool.root)
    return len(parked)


def pool_state(session: Session) -> PoolState:
    """Return the current state of the pool."""
    parked = tuple(list_parked(open_pool(session)))
    working = is_held(_lock(session))
    return PoolState(session.settings.worktree_pool, target_tip(session), parked, working)


def _keep(session: Session) -> None:
    wanted = session.settings.worktree_pool
    if wanted:
        ready_root(session)
    pool = open_pool(session)
    tip = target_tip(session)
    if wanted:
        guard(session, pool.root)
    _sweep(session, pool)
    for one in list_parked(pool):
        if one.stamp != pool.stamp:
            _retire(session, pool, one)
    if tip is None:
        return
    _take_returned(session, pool, tip)
    for one in list_parked(pool):
        if one.commit != tip:
            left = advance(pool, one, tip)
            if left is not None:
                set_aside(session, left, os.path.basename(left).lstrip("."))
    ready = list_parked(pool)
    cold_first = sorted(ready, key=lambda one: one.is_warm)
    for one in cold_first[: max(0, len(ready) - wanted)]:
        _retire(session, pool, one)
    for _ in range(wanted - len(ready)):
        require_space(session, tip)
        make(pool, tip)
    update_list(session, pool, tip)


def _take_returned(session: Session, pool: Pool, tip: Oid) -> None:
    """Park landed worktrees that were offered, newest first, until the pool has enough warm ones.

    The others are deleted as usual.
    """
    warm = sum(one.is_warm for one in list_parked(pool))
    left: list[tuple[TrashEntry, str]] = []
    for entry in reversed(list_trash(trash_root(session))):
        commit = _offered(entry)
        if commit is None:
            continue
        room = session.settings.worktree_reuse and warm < session.settings.worktree_pool
        if room and _park_returned(session, pool, entry, commit=commit, tip=tip):
            warm += 1
        elif os.path.isdir(entry.path):
            with suppress(OSError):
                os.unlink(f"{entry.path}/{RETURNING}")
            left.append((entry, commit))
    delete_landed(session, left)


def _offered(entry: TrashEntry) -> Oid | None:
    try:
        with open(f"{entry.path}/{RETURNING}", encoding="ascii", opener=open_regular) as file:
            return Oid(file.read().strip())
    except OSError:
        return None


def _park_returned(
    session: Session, pool: Pool, entry: TrashEntry, *, commit: Oid, tip: Oid
) -> bool:
    """Park a worktree of the trash unless it was changed; after a failure set it aside there."""
    if not is_returnable(pool, entry.path, commit):
        return False
    path = f"{pool.root}/{RETURNED}{os.path.basename(entry.path)}"
    try:
        os.rename(entry.path, path)
    except OSError:  # it was restored meanwhile, or the pool is on another file system
        return False
    with suppress(GitFailed, OSError):
        if park_removed(pool, path, commit=commit, new=tip):
            return True
    set_aside(session, path, os.path.basename(path).lstrip("."))
    return False


def _retire(session: Session, pool: Pool, parked: ParkedWorktree) -> None:
    """Delete a parked worktree in the background; one with changes is kept in the trash."""
    claimed = claim(pool, parked, MOVING + os.path.basename(parked.path))
    if claimed is None:
        return
    if is_clean(pool, claimed.path, claimed.commit):
        delete_in_background(claimed.path)
    else:
        set_aside(session, claimed.path, os.path.basename(parked.path))


def _sweep(session: Session, pool: Pool) -> None:
    """Remove the half-done work of a killed job, and worktrees without a readable record."""
    names = list_names(pool)
    ready = {os.path.basename(one.path) for one in list_parked(pool)}
    for name in names:
        path = f"{pool.root}/{name}"
        if name.startswith(MAKING):
            drop_registration(pool, path)
            delete_in_background(path)
        elif name.startswith((MOVING, RETURNED)):
            drop_registration(pool, path)
            set_aside(session, path, name.lstrip("."))
        elif name.startswith(LENT):
            with suppress(OSError), hold(session.worktree_lock, name="worktree"):
                set_aside(session, path, name.lstrip("."))  # if it fails, verify has taken it
        elif name.startswith(READY) and name not in ready:
            with suppress(OSError):  # a spawn may have taken it meanwhile
                set_aside(session, path, name)
        elif name.startswith(DOOMED) and _is_old(path):
            delete_in_background(path)


def _is_old(path: str) -> bool:
    try:
        return os.lstat(path).st_ctime * 1000 < clock.now_ms() - RESUMED_AFTER_S * 1000
    except OSError:
        return False


def _lock(session: Session) -> str:
    return f"{session.paths.locks}/pool"


def _read_bell_ns(session: Session) -> int:
    try:
        return os.stat(f"{session.paths.root}/{BELL}").st_mtime_ns
    except OSError:
        return 0
