"""Point a linked worktree at the shims, and take that back without a trace."""

import os

from gitworker.errors import Refused
from gitworker.paths import Repository, require_repository, state_paths
from gitworker.repo.hooks.config_files import (
    before,
    forget,
    is_untouched,
    keep_after,
    keep_before,
    list_entries,
    read_bytes,
    write_config,
)
from gitworker.repo.hooks.layout import CONFIG_HOOKS, PLACE, is_named, kept_base
from gitworker.repo.hooks.shims import (
    refresh_shims,
    remove_shims,
    shims_are_stale,
    shims_lock,
    uses_config_hooks,
)
from gitworker.repo.hooks.user_hooks import linked_worktrees
from gitworker.repo.hooks.worker_alias import is_our_alias
from gitworker.repo.hooks.worktree_config import is_surely_off, switch_off, switch_on
from gitworker.repo.plumbing.git import Git, GitFailed

HOOKS_PATH = "core.hooksPath"
INCLUDE = "include.path"


def install(
    git: Git, repository: Repository, worktree_git: Git, *, interpreter: str | None = None
) -> None:
    """Make the hooks run in the linked worktree of `worktree_git`, and only there.

    Writes stale shims again, switches extensions.worktreeConfig on if it is off, and sets one
    worktree-scoped setting: core.hooksPath, or from git 2.54 on an include of the config hooks.
    Idempotent; if only the worktree is missing, it takes one git process. Does nothing after
    `hooks uninstall`. Raises Refused for a main checkout, and Conflict if another process holds the
    configuration's lock.
    """
    worktree = require_repository(worktree_git.directory, {})
    if not worktree.is_linked or worktree.common_dir != repository.common_dir:
        raise Refused(
            f"{worktree_git.directory} is not a linked worktree of {repository.common_dir};"
            " the hooks are never installed in a main checkout",
            "git worktree list",
        )
    paths = state_paths(repository)
    if paths.is_uninstalled:
        return
    if is_surely_off(repository):  # before the shims: it makes the configuration newer than them
        _switch_on(git, repository)
    if shims_are_stale(paths.hooks, worktree.top):
        refresh_shims(git, repository, interpreter=interpreter, force=True)
    file = f"{worktree.git_dir}/config.worktree"
    base = kept_base(worktree.git_dir)
    content = read_bytes(file)
    if is_untouched(base, content) and is_named(content, paths.hooks):
        return
    if not is_named(content, PLACE):
        keep_before(base, content)
    try:
        _point(worktree_git, paths.hooks)
    except GitFailed:  # the configuration mentions the extension, but it is off
        _switch_on(git, repository)
        refresh_shims(git, repository)
        _point(worktree_git, paths.hooks)
    keep_after(base, read_bytes(file))


def uninstall(git: Git, repository: Repository) -> None:
    """Remove the hooks from every worktree and the shims; restore the earlier configuration.

    Configuration files that no other program changed are restored byte for byte.
    """
    paths = state_paths(repository)
    with shims_lock(paths):
        for admin, _ in linked_worktrees(repository.common_dir):
            uninstall_one(git, admin)
        switch_off(git, repository)
        remove_shims(paths)


def is_installed(git: Git, admin: str, state_hooks: str) -> bool:
    """Return whether the worktree with that admin directory is pointed at the shims."""
    file = f"{admin}/config.worktree"
    if not is_named(read_bytes(file), PLACE):
        return False
    return any(value.startswith(state_hooks) for _, value in _ours(git, file))


def mentions(admin: str, state_hooks: str) -> bool:
    """Return whether a worktree's own configuration names the shims; start no process."""
    return is_named(read_bytes(f"{admin}/config.worktree"), state_hooks)


def _switch_on(git: Git, repository: Repository) -> None:
    with shims_lock(state_paths(repository)):
        switch_on(git, repository)


def _point(worktree_git: Git, state_hooks: str) -> None:
    if uses_config_hooks(state_hooks):
        value = f"{state_hooks}/{CONFIG_HOOKS}"
        worktree_git.run(
            "config", "--worktree", "--fixed-value", "--replace-all", INCLUDE, value, value
        )
    else:
        worktree_git.run("config", "--worktree", "--replace-all", HOOKS_PATH, state_hooks)


def uninstall_one(git: Git, admin: str) -> None:
    """Remove the hooks from the one worktree with that admin directory."""
    file = f"{admin}/config.worktree"
    base = kept_base(admin)
    content = read_bytes(file)
    if is_untouched(base, content):
        write_config(file, before(base))
    elif is_named(content, PLACE):
        for key, value in _ours(git, file):
            git.run("config", "--file", file, "--fixed-value", "--unset-all", key, value)
        _restore_hooks_path(git, file, base)
        if before(base) is None and not (read_bytes(file) or b"").strip():
            os.unlink(file)
    forget(base)


def _restore_hooks_path(git: Git, file: str, base: str) -> None:
    """Restore the worktree's own core.hooksPath, which gitworker's had replaced."""
    if before(base) is not None:
        earlier = [v for k, v in list_entries(git, f"{base}-before") if k == HOOKS_PATH.lower()]
        if earlier and earlier[-1] is not None:
            git.run("config", "--file", file, HOOKS_PATH, earlier[-1])


def _ours(git: Git, file: str) -> list[tuple[str, str]]:
    places = {HOOKS_PATH.lower(): PLACE, INCLUDE: f"{PLACE}/{CONFIG_HOOKS}"}
    return [
        (key, value)
        for key, value in list_entries(git, file)
        if value and ((key in places and value.endswith(places[key])) or is_our_alias(key, value))
    ]
