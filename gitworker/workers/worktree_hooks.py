"""Install and remove the hooks of all workers' worktrees."""

import os
from contextlib import suppress

from gitworker.app import prepare_state, remove_excludes
from gitworker.paths import LINK_NAME, read_worktree_owner
from gitworker.progress import Notice
from gitworker.repo.hooks.install import install, uninstall
from gitworker.repo.hooks.user_hooks import linked_worktrees
from gitworker.repo.plumbing.disk import write_atomically
from gitworker.session import Session
from gitworker.worktrees.pool.hand_out import pool_root
from gitworker.worktrees.pool.keep_ready import empty_pool
from gitworker.worktrees.worktree_root import mark_root, unmark_root


def install_hooks(session: Session) -> list[str]:
    """Install the hooks in every worker's worktree; return those worktrees.

    Restores the excludes and the link that `uninstall_everything` removed.
    """
    with suppress(FileNotFoundError):
        os.unlink(session.paths.uninstalled)
    prepare_state(session.paths, session.repository, session.main_top)
    mark_root(session)
    tops = [
        top
        for admin, top in linked_worktrees(session.repository.common_dir)
        if read_worktree_owner(admin) is not None and os.path.isdir(top)
    ]
    for top in tops:
        install(session.git, session.repository, session.git.at(top))
    return tops


def restore_hooks(session: Session) -> None:
    """Install the uninstalled hooks again, since a new worker needs them, and report it."""
    install_hooks(session)
    text = "the hooks were uninstalled, and are installed again for the new worker"
    session.report(Notice(f"{text} (to remove them: git worker hooks uninstall)"))


def uninstall_everything(session: Session) -> None:
    """Remove the hooks, excludes and link; worktrees and the state directory stay.

    A mark stays too, so that no other command installs them again. Parked worktrees are removed as
    well: without our `.gitignore` git would show them.
    """
    write_atomically(session.paths.uninstalled, b"")
    if os.path.isdir(pool_root(session)):
        empty_pool(session)
    uninstall(session.git, session.repository)
    remove_excludes(session.repository.common_dir)
    unmark_root(session)
    link = f"{session.main_top}/{LINK_NAME}"
    with suppress(OSError):  # there is no link, or the user has a file there
        if os.path.realpath(link) == os.path.realpath(session.paths.root) and os.path.islink(link):
            os.unlink(link)
