"""The data of `git worker hooks status`. Read-only."""

import os
from typing import NamedTuple

from gitworker.paths import Repository, state_paths
from gitworker.repo.hooks.install import is_installed
from gitworker.repo.hooks.layout import ALWAYS, SHARED, STAMP
from gitworker.repo.hooks.shims import (
    find_put_aside,
    is_foreign,
    read_stamp,
    shims_are_stale,
    shims_differ,
    uses_config_hooks,
)
from gitworker.repo.hooks.user_hooks import UserHooks, find_user_hooks, linked_worktrees
from gitworker.repo.plumbing.git import Git


class WorktreeHooks(NamedTuple):
    """A linked worktree, and whether gitworker's hooks run in it."""

    path: str
    admin: str
    is_installed: bool


class HookStatus(NamedTuple):
    """The state of gitworker's hooks in a repository.

    `tampered` names shims that are missing or changed, and foreign files beside them; it is empty
    if no shims are written (`is_present` false). `put_aside` names hooks that other programs
    installed there; they run in every worker's worktree.
    """

    worktrees: tuple[WorktreeHooks, ...]
    user_hooks: UserHooks
    is_present: bool
    is_stale: bool
    tampered: tuple[str, ...]
    put_aside: tuple[str, ...]
    by_config: bool
    interpreter: str | None


def status(git: Git, repository: Repository) -> HookStatus:
    """Return the state of the hooks: one git process, and one per worktree that has hooks."""
    hooks = state_paths(repository).hooks
    is_present = has_shims(hooks)
    stamp = read_stamp(hooks)
    user_hooks = find_user_hooks(git, repository)
    worktrees = tuple(
        WorktreeHooks(top, admin, is_installed(git, admin, hooks))
        for admin, top in linked_worktrees(repository.common_dir)
    )
    return HookStatus(
        worktrees=worktrees,
        user_hooks=user_hooks,
        is_present=is_present,
        is_stale=is_present and shims_are_stale(hooks) and shims_differ(hooks, user_hooks),
        tampered=find_tampered(repository),
        put_aside=tuple(find_put_aside(state_paths(repository))),
        by_config=uses_config_hooks(hooks),
        interpreter=None if stamp is None else stamp.interpreter,
    )


def has_shims(hooks: str) -> bool:
    """Return whether the shim directory has any file; `init` leaves an empty one."""
    return os.path.isdir(hooks) and bool(os.listdir(hooks))


def find_tampered(repository: Repository) -> tuple[str, ...]:
    """Return the changed, missing or foreign names in the shim directory; start no process."""
    hooks = state_paths(repository).hooks
    if not has_shims(hooks):
        return ()
    found = set(os.listdir(hooks))
    foreign = {name for name in found if is_foreign(f"{hooks}/{name}")}
    return tuple(sorted(foreign | ({*ALWAYS, SHARED, STAMP} - found)))
