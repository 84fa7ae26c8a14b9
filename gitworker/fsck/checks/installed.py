"""gitworker's hooks run in the workers' worktrees, and its lines are in info/exclude.

After `hooks uninstall` neither is missed.
"""

import os
from collections.abc import Iterator
from functools import partial

from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import Picture
from gitworker.fsck.rules_records import holds_task
from gitworker.repo.hooks.hook_status import find_tampered, has_shims
from gitworker.repo.hooks.install import install, mentions
from gitworker.repo.worktrees.excludes import add_excludes, missing_excludes
from gitworker.repo.worktrees.worktree_list import Worktree
from gitworker.session import Session


def check_installed(picture: Picture) -> Iterator[Finding]:
    """Find worktrees without our hooks, and missing excludes; reads only files."""
    hooks = picture.session.paths.hooks
    trees = list(_worktrees(picture))
    without = [tree for tree in trees if not mentions(tree.admin_dir, hooks)]
    missing = missing_excludes(picture.common_dir)
    if not trees or picture.session.paths.is_uninstalled:
        return
    for tree in without:
        yield Finding(
            "hooks_missing", tree.path, f"gitworker's hooks do not run in {tree.path}",
            "installs them", partial(_install, place=tree.path),
        )  # fmt: skip
    if not without and (find_tampered(picture.session.repository) or not has_shims(hooks)):
        yield Finding(
            "hooks_broken", hooks, f"gitworker's hook scripts in {hooks} are missing or changed",
            "writes them again", partial(_install, place=trees[0].path),
        )  # fmt: skip
    if missing:
        yield Finding(
            "excludes_missing", f"{picture.common_dir}/info/exclude",
            f"info/exclude lacks {', '.join(missing)}", "writes gitworker's lines again", _exclude,
        )  # fmt: skip


def _worktrees(picture: Picture) -> Iterator[Worktree]:
    """Yield the existing worktrees of workers that hold a task."""
    for worker in picture.settled:
        if worker.worktree and holds_task(worker.state):
            tree = picture.worktrees.get(os.path.realpath(worker.worktree))
            if tree is not None and os.path.isdir(tree.path):
                yield tree


def _install(session: Session, *, place: str) -> None:
    install(session.git, session.repository, session.git.at(place))


def _exclude(session: Session) -> None:
    add_excludes(session.repository.common_dir)
