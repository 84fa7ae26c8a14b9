"""Read the changes between two commits as data. Read-only; two processes of git.

They never change, so a process that serves many reads keeps the newest.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gitworker.errors import NotFound
from gitworker.paths import require_repository
from gitworker.repo.history.patch_ids import SETTINGS
from gitworker.repo.plumbing.git import Git
from gitworker.review.rules_patch import FilePatch, RawChange, parse_patch, parse_raw

if TYPE_CHECKING:
    from gitworker.model.ids import Oid

PATCHES_KEPT = 4
OPTIONS = (
    "-r", "--find-renames", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
    "--no-relative", "--no-indent-heuristic", "--diff-algorithm=myers", "--inter-hunk-context=0",
    "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none",
    "-O/dev/null",
)  # fmt: skip


def read_patch(git: Git, old: Oid, new: Oid, *, context: int = 3) -> tuple[FilePatch, ...]:
    """Return the changed files with their hunks, in git's order, with renames.

    git runs as in a bare repository, so that no attributes or settings of a user change a hunk.
    Raises NotFound if git has deleted one of the commits.
    """
    return _read(require_repository(git.directory).common_dir, old, new, context)


@lru_cache(PATCHES_KEPT)
def _read(common_dir: str, old: Oid, new: Oid, context: int) -> tuple[FilePatch, ...]:
    bare = Git(common_dir)
    changes = _read_raw(bare, old, new)
    if not changes:
        return ()
    done = bare.run(
        "--bare", "diff-tree", *OPTIONS, f"--unified={context}", "-p", old, new, settings=SETTINGS
    )
    return parse_patch(changes, done.text)


def _read_raw(bare: Git, old: Oid, new: Oid) -> list[RawChange]:
    done = bare.run(
        "--bare", "diff-tree", *OPTIONS, "--raw", "-z", old, new, settings=SETTINGS, ok=(0, 128)
    )
    if done.status != 0:
        raise NotFound(
            f"{old[:10]} and {new[:10]} cannot be compared: git has deleted one of them",
            "git worker review list",
            detail=done.complaint,
        )
    return parse_raw(done.text)
