"""The index of a worker's worktree can be read; else it is built again from HEAD."""

import os
from collections.abc import Iterator

from gitworker.errors import Conflict
from gitworker.fsck.checks.misplaced import ASIDE, move_aside
from gitworker.fsck.finding import Finding, Repair
from gitworker.fsck.picture import Picture
from gitworker.repo.plumbing.disk import private_directory
from gitworker.repo.plumbing.index_file import find_index_flaw, rebuild_index
from gitworker.repo.worktrees.worktree_list import Worktree
from gitworker.session import Session
from gitworker.store.workers import Worker


def check_index(picture: Picture, worker: Worker, tree: Worktree) -> Iterator[Finding]:
    """Find an index that is missing or that git cannot read."""
    session = picture.session
    flaw = find_index_flaw(session.git, tree.path, tree.admin_dir)
    if flaw is not None:
        yield Finding(
            "index_broken", f"{tree.admin_dir}/index",
            f"the index of {worker.worker_id}'s worktree {flaw}: {tree.admin_dir}/index",
            f"builds it from HEAD: files stay as they are, what was staged is unstaged; the old one"
            f" is kept in {session.paths.root}/{ASIDE}/",
            _rebuild(tree),
        )  # fmt: skip


def _rebuild(tree: Worktree) -> Repair:
    def mend(session: Session) -> None:
        index = f"{tree.admin_dir}/index"
        if find_index_flaw(session.git, tree.path, tree.admin_dir) is None:
            return
        if os.path.lexists(f"{index}.lock"):
            raise Conflict(f"{index}.lock exists: git is at work there", f"rm {index}.lock")
        with private_directory(session.paths.root, "index-") as private:
            if os.path.lexists(index):
                move_aside(session.paths.root, index)
            rebuild_index(session.git, tree.path, tree.admin_dir, private)

    return mend
