"""Install, remove and report the hooks of all workers' worktrees."""

import os
from contextlib import suppress
from typing import Any

from gitworker.app import LINK_NAME, add_excludes, remove_excludes
from gitworker.paths import read_worktree_owner
from gitworker.repo.hooks.hook_status import HookStatus
from gitworker.repo.hooks.install import install, uninstall
from gitworker.repo.hooks.user_hooks import linked_worktrees
from gitworker.session import Session
from gitworker.worktrees.pool.hand_out import pool_root
from gitworker.worktrees.pool.keep_ready import empty_pool
from gitworker.worktrees.worktree_root import mark_root, unmark_root


def install_hooks(session: Session) -> list[str]:
    """Install the hooks in every worker's worktree; return those worktrees.

    Restores the lines that `uninstall_everything` removed from info/exclude.
    """
    add_excludes(session.repository.common_dir)
    mark_root(session)
    tops = [
        top
        for admin, top in linked_worktrees(session.repository.common_dir)
        if read_worktree_owner(admin) is not None and os.path.isdir(top)
    ]
    for top in tops:
        install(session.git, session.repository, session.git.at(top))
    return tops


def uninstall_everything(session: Session) -> None:
    """Remove the hooks, excludes and link; worktrees and the state directory stay.

    Parked worktrees are removed as well: without our `.gitignore` git would show them.
    """
    if os.path.isdir(pool_root(session)):
        empty_pool(session)
    uninstall(session.git, session.repository)
    remove_excludes(session.repository.common_dir)
    unmark_root(session)
    link = f"{session.main_top}/{LINK_NAME}"
    with suppress(OSError):  # there is no link, or the user has a file there
        if os.path.realpath(link) == os.path.realpath(session.paths.root) and os.path.islink(link):
            os.unlink(link)


def hook_text(found: HookStatus) -> str:
    """Return the state of the hooks as text, one worktree per line."""
    lines = [
        f"{'on' if tree.is_installed else 'off':<4}{tree.path}" for tree in found.worktrees
    ] or ["there is no linked worktree"]
    if found.user_hooks.names:
        lines.append(f"your own hooks: {', '.join(sorted(found.user_hooks.names))}")
    if found.tampered:
        lines.append(f"changed by another program: {', '.join(found.tampered)}")
        lines.append("repair: git worker hooks install")
    elif found.is_present and found.is_stale:
        lines.append("out of date: the next hook rewrites them")
    return "\n".join(lines)


def hook_fields(found: HookStatus) -> dict[str, Any]:
    """Return the state of the hooks as JSON fields."""
    return {
        "worktrees": [
            {"path": tree.path, "installed": tree.is_installed} for tree in found.worktrees
        ],
        "user_hooks": sorted(found.user_hooks.names),
        "tampered": list(found.tampered),
        "stale": found.is_stale,
        "by_config": found.by_config,
    }
