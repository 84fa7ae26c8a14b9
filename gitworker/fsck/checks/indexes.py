"""The index of a worker's worktree: if git cannot read it, it is rebuilt from HEAD."""

import os
from collections.abc import Iterator
from functools import partial

from gitworker.errors import Conflict
from gitworker.fsck.checks.misplaced import ASIDE, move_aside
from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import Picture
from gitworker.repo.plumbing.disk import private_directory
from gitworker.repo.plumbing.index_file import find_index_flaw, rebuild_index
from gitworker.repo.worktrees.worktree_list import Worktree
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.workers import Worker


def check_index(picture: Picture, worker: Worker, tree: Worktree) -> Iterator[Finding]:
    """Find an index that is missing or that git cannot read."""
    session, index = picture.session, f"{tree.admin_dir}/index"
    flaw = find_index_flaw(session.git, tree.path, tree.admin_dir)
    if flaw is not None:
        yield Finding(
            "index_broken", index, f"the index of {worker.worker_id}'s worktree {flaw}: {index}",
            "rebuilds it from HEAD: files stay, staged changes become unstaged; the old index"
            f" moves to {session.paths.root}/{ASIDE}/",
            partial(_rebuild, tree=tree),
        )  # fmt: skip


def _rebuild(session: Session, *, tree: Worktree) -> None:
    index = f"{tree.admin_dir}/index"
    if find_index_flaw(session.git, tree.path, tree.admin_dir) is None:
        return
    if os.path.lexists(f"{index}.lock"):
        hint = f"rm {quoted(index)}.lock   # if no git command is running"
        raise Conflict(f"git has locked the index: {index}.lock exists", hint)
    with private_directory(session.paths.root, "index-") as private:
        if os.path.lexists(index):
            move_aside(session.paths.root, index)
        rebuild_index(session.git, tree.path, tree.admin_dir, private)
