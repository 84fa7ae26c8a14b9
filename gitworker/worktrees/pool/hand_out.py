"""Hand out parked worktrees to spawn and verify; `keep_ready` makes them in the background.

If `worktree.pool` is 0, nothing here is run or imported. One job at a time fills the pool, at low
priority; a spawn never waits for it and never fails because of it. Landed worktrees return with
their ignored files (`worktree.reuse`), so that the next task finds warm caches. A parked worktree
that was changed is moved to the trash.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol
from zlib import crc32

from gitworker import proc
from gitworker.bus.following.bell import notify_followers
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, GitWorkerError
from gitworker.model.ids import Branch, Oid
from gitworker.model.ref_names import ref_of
from gitworker.paths import open_regular
from gitworker.repo.hooks.install import uninstall_one
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.lock import hold
from gitworker.repo.plumbing.refs import create_ref, find_tip
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
from gitworker.repo.pool.prefetched_status import DirtyCheck, start_dirty_check
from gitworker.session import Session
from gitworker.worktrees.worktree_root import shelf_of

if TYPE_CHECKING:
    from gitworker.repo.rescue.trash import TrashEntry

BELL = "pool-bell"  # in the state directory: touched when there is work for the pool's job
RETURNING = "returning"  # in a trash entry: its commit; the pool may take it
FOLDER = ".pool"
SHARED = ("core.", "extensions.", "filter.", "submodule.", "checkout.")
NOT_SHARED = frozenset(
    {"core.hookspath", "core.worktree", "core.bare", "extensions.worktreeconfig"}
)
RELATIVE_SINCE = (2, 48)  # older ones cannot read a relative path in an admin directory


class TakenWorktree(NamedTuple):
    """A parked worktree that a spawn has taken; `is_warm`: it has an earlier task's caches."""

    admin_dir: str
    is_warm: bool


def pool_root(session: Session) -> str:
    """Return the directory of this repository's parked worktrees."""
    return shelf_of(session, FOLDER)


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


class WorktreeRequest(Protocol):
    """The worktree that a spawn asks for: a branch that begins at `base`, checked out at `path`."""

    @property
    def branch(self) -> Branch:
        """Return the branch."""
        ...

    @property
    def base(self) -> Oid:
        """Return the commit that it begins at."""
        ...

    @property
    def path(self) -> str:
        """Return the path of the new worktree."""
        ...


def start_check(session: Session, early: DirtyCheck | None) -> DirtyCheck | None:
    """Start to check the worktree that a spawn at the target's tip would take.

    `early` is a check that the entry has started; it is returned if it is for that worktree.
    """
    pool = open_pool(session)
    tip = find_tip(session.git, session.repository.common_dir, session.target)
    for parked in _ready(pool, tip):
        if early is not None and early.is_at(parked.path):
            return early
        return start_dirty_check(parked.path)
    return None


def claim_name(operation: int) -> str:
    """Return the name that a parked worktree gets when a spawn claims it."""
    return f"{TAKEN}{operation}"


def take(
    session: Session, place: WorktreeRequest, *, operation: int, check: DirtyCheck | None
) -> TakenWorktree | None:
    """Make a parked worktree the new branch's worktree; return None if none is fit.

    `check` is the result of `start_check`. The caller holds the worktree lock and rolls back by
    `claim_name(operation)`.
    """
    pool = open_pool(session)
    for parked in _ready(pool, place.base):
        is_checked = check is not None and check.is_at(parked.path) and _is_checked(check, parked)
        claimed = claim(pool, parked, claim_name(operation))
        if claimed is None:
            continue
        crash_point("pool.taken")
        if _is_fit(pool, claimed, place.base, is_checked=is_checked):
            _make_branch(session, place, parked=parked, claimed=claimed)
            return TakenWorktree(_hand_over(session, pool, claimed, place), claimed.is_warm)
        _set_aside(session, claimed, parked)
    return None


def _set_aside(session: Session, claimed: ParkedWorktree, parked: ParkedWorktree) -> None:
    """Move a parked worktree that was changed into the trash."""
    from gitworker.worktrees.trashing import set_aside  # 3 ms, only if one is not fit

    with suppress(OSError):  # it then keeps its claimed name, and the spawn makes a new worktree
        set_aside(session, claimed.path, os.path.basename(parked.path))


def lend(session: Session, place: str, commit: Oid) -> bool:
    """Make a parked worktree verify's detached worktree at `place`; return whether one was fit.

    Our hooks are removed from it. Cold worktrees are taken first; a warm one has ignored files.
    """
    pool = open_pool(session)
    with hold(session.worktree_lock, name="worktree"):
        for parked in sorted(_ready(pool, commit), key=lambda one: one.is_warm):
            claimed = claim(pool, parked, LENT + os.path.basename(parked.path))
            if claimed is None:
                continue
            crash_point("pool.lent")
            if _is_fit(pool, claimed, commit, is_checked=False):
                uninstall_one(session.git, f"{claimed.path}/admin")
                register_worktree(pool, claimed, place, is_relative=_is_relative(session))
                _start_job(session)
                return True
            _set_aside(session, claimed, parked)
    return False


def start_pool_job(session: Session) -> None:
    """Start a background job if the pool is on and does not hold the wanted worktrees."""
    wanted = session.settings.worktree_pool
    if not wanted:
        return
    pool = open_pool(session)
    tip = find_tip(session.git, session.repository.common_dir, session.target)
    parked = note_parked(session, pool, tip)
    if len(parked) != wanted or any(one.commit != tip for one in parked):
        _start_job(session)


def note_parked(session: Session, pool: Pool, tip: Oid | None) -> list[ParkedWorktree]:
    """Write the list of worktrees that the next spawn may take, so that it can check one at once.

    Returns all parked worktrees, including those that it may not take.
    """
    parked = list_parked(pool)
    keep_list(session.paths.root, [one.path for one in _sorted_ready(pool, parked, tip)])
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
    command = [sys.executable, *proc.BACKGROUND, "pool", session.repository.common_dir]
    proc.spawn_detached(["nice", *command])


def _ready(pool: Pool, base: Oid | None) -> list[ParkedWorktree]:
    """Return the usable worktrees: those at the commit first, warm ones before cold ones."""
    return _sorted_ready(pool, list_parked(pool), base)


def _sorted_ready(
    pool: Pool, parked: Sequence[ParkedWorktree], base: Oid | None
) -> list[ParkedWorktree]:
    ready = [one for one in parked if one.stamp == pool.stamp]
    return sorted(ready, key=lambda one: (one.commit != base, not one.is_warm))


def _is_fit(pool: Pool, claimed: ParkedWorktree, base: Oid, *, is_checked: bool) -> bool:
    """Switch a claimed worktree to a commit; return whether it then equals a fresh checkout."""
    try:
        if not is_checked and not is_clean(pool, claimed.path, claimed.commit):
            return False
        if claimed.commit == base:
            return True
        switch_commit(pool, claimed.path, old=claimed.commit, new=base)
        return is_clean(pool, claimed.path, base)
    except (GitWorkerError, OSError):
        return False


def _is_checked(check: DirtyCheck, parked: ParkedWorktree) -> bool:
    """Return whether a check found the worktree unchanged; the check ends."""
    return has_stamps(parked) and check.found_nothing()


def _make_branch(
    session: Session, place: WorktreeRequest, *, parked: ParkedWorktree, claimed: ParkedWorktree
) -> None:
    """Make the branch; if git refuses it, park the worktree again."""
    ref = ref_of(place.branch)
    try:
        create_ref(session.git, ref, place.base, reason=f"branch: Created from {place.base}")
    except Conflict as error:
        if claimed.commit == place.base:
            with suppress(OSError):
                os.rename(claimed.path, parked.path)
        if isinstance(error.__cause__, GitFailed):
            from gitworker.repo.worktrees.worktree_list import explained

            raise explained(error.__cause__, place.branch) from error
        raise


def _hand_over(
    session: Session, pool: Pool, claimed: ParkedWorktree, place: WorktreeRequest
) -> str:
    switch(pool, claimed, ref_of(place.branch))
    crash_point("pool.switched")
    admin_dir = register_worktree(pool, claimed, place.path, is_relative=_is_relative(session))
    _run_user_hook(session, session.git.at(place.path), place.base)
    return admin_dir


def _is_relative(session: Session) -> bool:
    """Return whether git is configured to write relative paths into worktrees, and can."""
    wanted = session.git_config.get("worktree.userelativepaths") == "true"
    return wanted and session.git.version() >= RELATIVE_SINCE


def _run_user_hook(session: Session, here: Git, base: Oid) -> None:
    """Run the user's post-checkout hook as `git worktree add` does; its failure is ignored."""
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
