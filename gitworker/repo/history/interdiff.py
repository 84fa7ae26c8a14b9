"""Differences between two versions of a branch, and of a worktree with its last commit. Read-only.

A version that was rebased meanwhile is compared by its changes: git merges the old version with the
commit on which the branch is now, in memory, and the result is compared with the new version. So
the commits that only came from the target do not appear. If that merge conflicts, git compares the
two versions commit by commit (git-range-diff(1)).
"""

from collections.abc import Sequence
from typing import NamedTuple

from gitworker.model.ids import Oid, Ref
from gitworker.paths import require_top
from gitworker.repo.plumbing.disk import copy_index, private_directory
from gitworker.repo.plumbing.git import Git

# Rules of the user that could stop or change a command that only reads.
QUIET = ("core.safecrlf=false", "core.fsmonitor=false", "advice.addEmbeddedRepo=false")


class Versions(NamedTuple):
    """Two versions of a branch, each with the commit on which it is.

    `tree` is the old version merged with the base of the new one; it is None if they conflict.
    """

    old_base: Oid
    old: Oid
    base: Oid
    tip: Oid
    tree: Oid | None

    @property
    def is_rebased(self) -> bool:
        """Return whether the branch was moved to another commit of the target."""
        return self.base != self.old_base


def compare_versions(git: Git, *, old: Oid, tip: Oid, target: Oid) -> Versions | None:
    """Return two versions of a branch; None if one has no commit in common with the target."""
    bases = []
    for commit in (old, tip):
        done = git.run("merge-base", commit, target, ok=(0, 1))
        if done.status != 0:
            return None
        bases.append(Oid(done.text.strip()))
    merged = git.run("merge-tree", "--write-tree", bases[1], old, ok=(0, 1))
    tree = Oid(merged.text.split("\n", 1)[0]) if merged.status == 0 else None
    return Versions(bases[0], old, bases[1], tip, tree)


def read_interdiff(
    git: Git, versions: Versions, *, options: Sequence[str] = (), paths: Sequence[str] = ()
) -> str:
    """Return the changes from the old version to the new one, as the user's git shows them."""
    if versions.tree is not None:
        return git.run("diff", *options, versions.tree, versions.tip, "--", *paths).text
    old, new = f"{versions.old_base}..{versions.old}", f"{versions.base}..{versions.tip}"
    return git.run("range-diff", *options, old, new, "--", *paths).text


def read_uncommitted(here: Git, *, options: Sequence[str] = (), paths: Sequence[str] = ()) -> str:
    """Return the uncommitted changes of a worktree, new files included; the index stays as it is.

    `here` runs at the top of the worktree.
    """
    admin_dir = require_top(here.directory).git_dir
    with private_directory(admin_dir, "gitworker-diff-") as private:
        env = {"GIT_INDEX_FILE": f"{private}/index"}
        copy_index(f"{admin_dir}/index", env["GIT_INDEX_FILE"])
        here.run("add", "--intent-to-add", "--all", "--", ":/",
                 env=env, settings=QUIET, ok=(0, 1, 128))  # fmt: skip
        return here.run("diff", *options, Ref("HEAD"), "--", *paths, env=env, settings=QUIET).text
