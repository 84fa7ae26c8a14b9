"""What we put into the repository is there: hooks that fire in workers' worktrees, excludes.

Where nothing of it is there somebody ran `hooks uninstall`, and nothing is wrong.
"""

import os
from collections.abc import Iterator

from gitworker.fsck.finding import Finding, Repair
from gitworker.fsck.picture import Picture
from gitworker.fsck.rules import holds_task
from gitworker.repo.hooks.hook_status import find_tampered
from gitworker.repo.hooks.install import install, mentions
from gitworker.repo.worktrees.excludes import (
    EXCLUDED,
    add_excludes,
    missing_excludes,
    remove_excludes,
)
from gitworker.repo.worktrees.worktree_list import Worktree


def check_installed(picture: Picture) -> Iterator[Finding]:
    """Find worktrees in which our hooks do not fire, and excludes that are gone; by files alone."""
    hooks = picture.session.paths.hooks
    trees = list(_worktrees(picture))
    deaf = [tree for tree in trees if not mentions(tree.admin_dir, hooks)]
    missing = missing_excludes(picture.common_dir)
    is_out = len(deaf) == len(trees) and not os.path.isdir(hooks) and {*EXCLUDED} <= {*missing}
    if not trees or is_out:
        return
    for tree in deaf:
        yield Finding(
            "hooks_missing", tree.path, f"our hooks do not fire in {tree.path}",
            "installs them there", _install(tree.path),
        )  # fmt: skip
    if not deaf and (find_tampered(picture.session.repository) or not os.path.isdir(hooks)):
        yield Finding(
            "hooks_broken", hooks, "our hook scripts are missing, or not as we wrote them",
            "writes them again", _install(trees[0].path),
        )  # fmt: skip
    if missing:
        yield Finding(
            "excludes_missing", f"{picture.common_dir}/info/exclude",
            f"info/exclude has not: {', '.join(missing)}", "writes our lines again",
            lambda _: _exclude(picture.common_dir),
        )  # fmt: skip


def _worktrees(picture: Picture) -> Iterator[Worktree]:
    """Yield the worktrees that workers have now and that are there."""
    for worker in picture.settled:
        if worker.worktree and holds_task(worker.state):
            tree = picture.worktrees.get(os.path.realpath(worker.worktree))
            if tree is not None and os.path.isdir(tree.path):
                yield tree


def _install(place: str) -> Repair:
    return lambda session: install(session.git, session.repository, session.git.at(place))


def _exclude(common_dir: str) -> None:
    remove_excludes(common_dir)
    add_excludes(common_dir)
