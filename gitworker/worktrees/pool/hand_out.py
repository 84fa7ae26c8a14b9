"""Hand out parked worktrees to spawn and verify, and start the job that fills the pool again.

`pool` is the entrance; this module is imported only if `worktree.pool` is set. The job
(`keep_ready`) runs at low priority, one at a time. A spawn never waits for it and never fails
because of it. A landed worktree returns to the pool with its ignored files (`worktree.reuse`), so
that its caches last from task to task. A parked worktree with changes is moved to the trash.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import crc32

from gitworker.bus.following.notify_followers import notify_followers
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, GitWorkerError
from gitworker.model.ids import Oid
from gitworker.model.ref_names import ref_of
from gitworker.paths import open_regular
from gitworker.processes.jobs import start_job
from gitworker.repo.hooks.install import uninstall_one
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.refs import create_ref, find_tip
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.pool.parked import (
    LENT,
    TAKEN,
    ParkedWorktree,
    Pool,
    claim,
    has_stamps,
    is_clean,
    keep_list,
    list_parked,
    register_worktree,
    switch,
    switch_commit,
)
from gitworker.repo.pool.prefetched_status import is_found_clean, start_dirty_check
from gitworker.session import Session
from gitworker.store.payloads.spawn_data import SpawnData

if TYPE_CHECKING:
    from gitworker.repo.rescue.trash import TrashEntry

BELL = "pool-bell"  # in the state directory: touched when the pool has something to do
RETURNING = "returning"  # in a trash entry: its commit; the pool may take it
FOLDER = ".pool"
SHARED = ("core.", "extensions.", "filter.", "submodule.", "checkout.")
NOT_SHARED = frozenset(
    {"core.hookspath", "core.worktree", "core.bare", "extensions.worktreeconfig"}
)
RELATIVE_SINCE = (2, 48)  # older ones cannot read a relative path in an admin directory


def pool_root(session: Session) -> str:
    """Return the directory of this repository's parked worktrees."""
    return session.shelf(FOLDER)


def open_pool(session: Session) -> Pool:
    """Return the pool with the repository's current settings."""
    workers = session.settings.checkout_workers
    return Pool(
        root=pool_root(session),
        repository=session.repository,
        git=session.git.at(session.main_top),
        lock=session.worktree_lock,
        stamp=_stamp(session),
        settings=(f"checkout.workers={workers}",) if workers else (),
    )


def target_tip(session: Session) -> Oid | None:
    """Return the target's commit; None if the branch does not exist."""
    return find_tip(session.git, session.repository.common_dir, session.target)


def start_check(session: Session) -> None:
    """Start to check the worktree that a spawn at the target's tip would take."""
    for parked in _best_first(open_pool(session), target_tip(session))[:1]:
        start_dirty_check(parked.path)


def claim_name(operation: int) -> str:
    """Return the name by which a spawn claims a parked worktree."""
    return f"{TAKEN}{operation}"


def take(session: Session, data: SpawnData, operation: int) -> tuple[str, bool] | None:
    """Make the branch and turn a parked worktree into its own; None if no worktree is usable.

    Returns its admin directory, and whether it is warm. The caller holds the worktree lock and
    rolls back by `claim_name(operation)`.
    """
    pool = open_pool(session)
    for parked in _best_first(pool, data.base):
        is_checked = has_stamps(parked) and is_found_clean(parked.path)
        claimed = claim(pool, parked, claim_name(operation))
        if claimed is None:
            continue
        crash_point("pool.taken")
        if _is_usable(pool, claimed, data.base, is_checked=is_checked):
            _make_branch(session, data, parked=parked, claimed=claimed)
            return _hand_over(session, pool, claimed, data), claimed.is_warm
        _move_to_trash(session, claimed, parked)
    return None


def lend(session: Session, place: str, commit: Oid) -> bool:
    """Turn a parked worktree into a detached one at `place`, for verify; False if none is usable.

    Our hooks are removed from it. It may have ignored files if all parked worktrees have some.
    """
    pool = open_pool(session)
    with hold(session.worktree_lock, name="worktree"):
        for parked in sorted(_best_first(pool, commit), key=lambda one: one.is_warm):
            claimed = claim(pool, parked, LENT + os.path.basename(parked.path))
            if claimed is None:
                continue
            crash_point("pool.lent")
            if _is_usable(pool, claimed, commit, is_checked=False):
                uninstall_one(session.git, f"{claimed.path}/admin")
                register_worktree(pool, claimed, place, is_relative=_is_relative(session))
                _start_job(session)
                return True
            _move_to_trash(session, claimed, parked)
    return False


def start_pool_job(session: Session) -> None:
    """Start the background job if worktrees are missing, too many, or not at the target's tip."""
    tip = target_tip(session)
    parked = update_list(session, open_pool(session), tip)
    if len(parked) != session.settings.worktree_pool or any(one.commit != tip for one in parked):
        _start_job(session)


def update_list(session: Session, pool: Pool, tip: Oid | None) -> list[ParkedWorktree]:
    """List the usable worktrees in a file, so that the next spawn checks one of them at once.

    Returns all ready worktrees, also those with an outdated stamp.
    """
    parked = list_parked(pool)
    keep_list(session.paths.root, [one.path for one in _sort(pool, parked, tip)])
    return parked


def give_to_pool(session: Session, entries: Sequence[tuple[TrashEntry, str]]) -> None:
    """Offer landed worktrees in the trash, each with its commit, to the pool."""
    for entry, tip in entries:
        with (
            suppress(OSError),
            open(f"{entry.path}/{RETURNING}", "w", encoding="ascii", opener=open_regular) as file,
        ):
            file.write(tip)
    _start_job(session)


def _start_job(session: Session) -> None:
    notify_followers(f"{session.paths.root}/{BELL}")
    start_job("pool", session.repository.common_dir, low_priority=True)


def _best_first(pool: Pool, base: Oid | None) -> list[ParkedWorktree]:
    """Return the usable worktrees: those at the commit first, of these the warm ones first."""
    return _sort(pool, list_parked(pool), base)


def _sort(pool: Pool, parked: Sequence[ParkedWorktree], base: Oid | None) -> list[ParkedWorktree]:
    usable = [one for one in parked if one.stamp == pool.stamp]
    return sorted(usable, key=lambda one: (one.commit != base, not one.is_warm))


def _is_usable(pool: Pool, claimed: ParkedWorktree, base: Oid, *, is_checked: bool) -> bool:
    """Switch a claimed worktree to a commit; return whether it equals a new checkout of it."""
    try:
        if not is_checked and not is_clean(pool, claimed.path, claimed.commit):
            return False
        if claimed.commit == base:
            return True
        switch_commit(pool, claimed.path, old=claimed.commit, new=base)
        return is_clean(pool, claimed.path, base)
    except (GitWorkerError, OSError):
        return False


def _move_to_trash(session: Session, claimed: ParkedWorktree, parked: ParkedWorktree) -> None:
    from gitworker.worktrees.trashing import set_aside  # 3 ms, only for an unusable worktree

    with suppress(OSError):  # then it keeps its unique name, and git adds a worktree instead
        set_aside(session, claimed.path, os.path.basename(parked.path))


def _make_branch(
    session: Session, data: SpawnData, *, parked: ParkedWorktree, claimed: ParkedWorktree
) -> None:
    """Create the branch; if git refuses, park the worktree again and raise the error."""
    ref = ref_of(data.branch)
    try:
        create_ref(session.git, ref, data.base, reason=f"branch: Created from {data.base}")
    except Conflict as error:
        if claimed.commit == data.base:
            with suppress(OSError):
                os.rename(claimed.path, parked.path)
        if isinstance(error.__cause__, GitFailed):
            from gitworker.repo.worktrees.worktree_list import explained

            raise explained(error.__cause__, data.branch) from error
        raise


def _hand_over(session: Session, pool: Pool, claimed: ParkedWorktree, data: SpawnData) -> str:
    switch(pool, claimed, ref_of(data.branch))
    crash_point("pool.switched")
    admin_dir = register_worktree(pool, claimed, data.path, is_relative=_is_relative(session))
    _run_user_hook(session, session.git.at(data.path), data.base)
    return admin_dir


def _is_relative(session: Session) -> bool:
    """Return whether git would write relative paths into a worktree."""
    wanted = session.git_config.get("worktree.userelativepaths") == "true"
    return wanted and session.git.version() >= RELATIVE_SINCE


def _run_user_hook(session: Session, here: Git, base: Oid) -> None:
    """Run the user's post-checkout hook as `git worktree add` does; its failure undoes nothing."""
    path = session.git_config.get("core.hookspath") or f"{session.repository.common_dir}/hooks"
    hook = os.path.join(here.directory, os.path.expanduser(path), "post-checkout")
    by_config = any(key.startswith("hook.") for key in session.git_config)
    if by_config or os.access(hook, os.X_OK):
        here.run(
            "hook", "run", "--ignore-missing", "post-checkout", "--", "0" * len(base), base, "1",
            ok=range(256),
        )  # fmt: skip


def _stamp(session: Session) -> str:
    """Return a checksum of the settings, attributes and sparse patterns that affect a checkout."""
    config = sorted(
        f"{key}={value}"
        for key, value in session.git_config.items()
        if key.startswith(SHARED) and key not in NOT_SHARED
    )
    common = session.repository.common_dir
    content = [os.fsencode("\n".join(config))]
    for name in ("info/attributes", "info/sparse-checkout"):
        with suppress(OSError), open(f"{common}/{name}", "rb", opener=open_regular) as file:
            content.append(file.read())
    return f"{crc32(b'|'.join(content)):08x}"
