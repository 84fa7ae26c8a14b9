"""The paths that a move of a checkout changes, and the files in its way."""

import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.rules_tree import is_safe_path
from gitworker.repo.status.tracked_files import find_file

GITLINK = "160000"


class Change(NamedTuple):
    """One path that differs between two commits: A, M, T or D, with modes and blobs."""

    status: str
    old_mode: str
    new_mode: str
    new_oid: Oid
    path: str
    old_oid: Oid


def changes_between(git: Git, old: Oid, new: Oid) -> tuple[Change, ...]:
    """Return the paths that differ between two commits, sorted as git sorts them.

    Paths that git never checks out are left out: they cannot have a file in the checkout.
    """
    out = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--end-of-options", old, new)
    fields = out.text.split("\0")
    return tuple(
        Change(words[4], words[0][1:], words[1], Oid(words[3]), path, Oid(words[2]))
        for words, path in (
            (raw.split(" "), path) for raw, path in zip(fields[::2], fields[1::2], strict=False)
        )
        if is_safe_path(path)
    )


def find_collisions(worktree: str, changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the untracked and ignored paths that a move by `changes` would overwrite, sorted.

    git itself refuses to overwrite untracked files, but silently overwrites ignored ones.
    """
    leaving = {change.path for change in changes if change.status == "D"}
    found: set[str] = set()
    checked: set[str] = {""}
    for change in changes:
        if change.old_mode == GITLINK and change.status == "T":
            found.update(_content(worktree, change.path, leaving))
        if change.status != "A":
            continue
        found.update(_blocking_parents(worktree, change.path, leaving, checked))
        found.update(_in_the_way(worktree, change.path, leaving))
    return tuple(sorted(found))


def _blocking_parents(
    worktree: str, path: str, leaving: set[str], checked: set[str]
) -> Iterator[str]:
    """Yield the parents of a new path that are not directories and are not deleted by the move."""
    parent = os.path.dirname(path)
    while parent not in checked:
        checked.add(parent)
        try:
            mode = os.lstat(f"{worktree}/{parent}").st_mode
        except OSError:  # absent, or below a file that a later round of the loop finds
            mode = stat.S_IFDIR
        if not stat.S_ISDIR(mode) and parent not in leaving:
            yield parent
        parent = os.path.dirname(parent)


def _in_the_way(worktree: str, path: str, leaving: set[str]) -> Iterator[str]:
    found = find_file(worktree, path)  # None behind a link, which is reported as a parent
    if found is None:
        return
    if stat.S_ISDIR(found.st_mode):
        yield from _content(worktree, path, leaving)
    else:
        yield path


def _content(worktree: str, path: str, leaving: set[str]) -> Iterator[str]:
    """Yield the files below a directory that the move itself does not delete."""
    for directory, folders, files in os.walk(f"{worktree}/{path}"):
        links = [name for name in folders if os.path.islink(f"{directory}/{name}")]
        for name in (*files, *links):
            relative = os.path.relpath(f"{directory}/{name}", worktree)
            if relative not in leaving:
                yield relative
