"""Putting back, path by path, the files of a checkout that stopped half-way.

git checks everything before it touches a file, so what stops it later (a filter, a full disk, a
kill) leaves some files new, some old, one missing or cut short, and the index as it was. A file
goes back only where nothing is lost by it: it is missing, or all its bytes are the new commit's.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.repo.checks import Change, changes_between
from gitworker.repo.disk import copy_index
from gitworker.repo.git import Git
from gitworker.repo.tracked_files import (
    drop_empty_parents,
    find_file,
    is_there,
    read_file,
    unlink_file,
)

GITLINK = "160000"
# What git says where it refuses before it has touched a file (unpack-trees.c, both wordings).
REFUSED_BEFORE = (
    "Cannot merge", "would be overwritten", "would be removed", "would lose untracked",
    "Refusing to remove",
)  # fmt: skip
CLOCK_TICK_MS = 20  # the kernel dates files by a clock that is up to a tick behind


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout that may have stopped on its way from `old` to `new`; `index` has old's entries.

    Files that were last touched before `since_ms` (epoch) were not moved by it and stay.
    """

    worktree: str
    index: str
    old: Oid
    new: Oid
    since_ms: int = 0

    @property
    def scratch(self) -> str:
        """Return the path of an index that is there while one looks."""
        return f"{self.index}.gitworker-back"


class Left(NamedTuple):
    """Paths that are not as they were: `missing` could not be written, `changed` are nobody's."""

    missing: tuple[str, ...]
    changed: tuple[str, ...]


def has_begun(complaint: str) -> bool:
    """Tell by git's own words whether a checkout that failed may have moved files."""
    return not any(words in complaint for words in REFUSED_BEFORE)


def put_back(here: Git, checkout: Checkout) -> Left:
    """Bring the files that a checkout had moved back to the old commit; return what is left.

    Idempotent.
    """
    with _suspected(here, checkout) as (changes, suspects):
        for path, change in changes.items():
            if change.status == "A" and path not in suspects and is_younger(checkout, path):
                drop_empty_parents(checkout.worktree, path)  # made for a file that never came
        if not suspects:
            return Left((), ())
        moved = _find_arrived(here, checkout, [changes[path] for path in suspects])
        for path in sorted(moved, reverse=True):
            if changes[path].status == "A" or _is_link(checkout.worktree, path):
                unlink_file(checkout.worktree, path)
        wanted = sorted(
            path
            for path in suspects
            if changes[path].status != "A"
            and (path in moved or not is_there(checkout.worktree, path))
        )
        missing = _write(here, wanted, index=checkout.index)
        changed = suspects - moved - set(wanted)
        return Left(tuple(missing), tuple(sorted(changed)))


def find_moved(here: Git, checkout: Checkout) -> tuple[str, ...]:
    """Return the paths whose files may have been moved; nothing changes."""
    with _suspected(here, checkout) as (_, suspects):
        return tuple(sorted(suspects))


def is_younger(checkout: Checkout, path: str) -> bool:
    """Tell whether a file was touched since the checkout; a missing one by its directory."""
    found = None
    while path and found is None:
        found = find_file(checkout.worktree, path)
        path = os.path.dirname(path)
    found = found or os.lstat(checkout.worktree)
    return found.st_ctime_ns // 1_000_000 >= checkout.since_ms - CLOCK_TICK_MS


def find_differing(here: Git, index: str) -> set[str]:
    """Return the paths whose file differs from its entry in an index file, which is refreshed."""
    env = {"GIT_INDEX_FILE": index}
    here.run("update-index", "-q", "--refresh", env=env, ok=(0, 1))
    out = here.run("diff-files", "--name-only", "-z", "--ignore-submodules=all", env=env).text
    return {path for path in out.split("\0") if path}


def entries(changes: Iterable[Change]) -> bytes:
    """Return the new side of changes as `git update-index -z --index-info` reads it."""
    return b"".join(
        f"{change.new_mode if change.status != 'D' else 0} {change.new_oid}\t".encode()
        + os.fsencode(change.path)
        + b"\0"
        for change in changes
    )


def _is_gitlink(change: Change) -> bool:
    return GITLINK in (change.old_mode, change.new_mode)


@contextmanager
def _suspected(here: Git, checkout: Checkout) -> Iterator[tuple[dict[str, Change], set[str]]]:
    """Yield what changes, by path, and the paths whose young file is not what the index says.

    Meanwhile the scratch index is there, with the entries of the index.
    """
    between = changes_between(here, checkout.old, checkout.new)
    changes = {change.path: change for change in between if not _is_gitlink(change)}
    added = {path for path, change in changes.items() if change.status == "A"}
    try:
        copy_index(checkout.index, checkout.scratch)
        there = {path for path in added if is_there(checkout.worktree, path)}
        found = there | ((find_differing(here, checkout.scratch) & changes.keys()) - added)
        yield changes, {path for path in found if is_younger(checkout, path)}
    finally:
        for file in (checkout.scratch, f"{checkout.scratch}.lock"):
            if os.path.lexists(file):
                os.unlink(file)


def _find_arrived(here: Git, checkout: Checkout, suspects: list[Change]) -> set[str]:
    """Return the paths whose file is the new commit's, or the beginning of it."""
    env = {"GIT_INDEX_FILE": checkout.scratch}
    here.run("update-index", "-z", "--index-info", stdin=entries(suspects), env=env)
    still = find_differing(here, checkout.scratch)
    return {
        change.path
        for change in suspects
        if change.status != "D"
        and is_there(checkout.worktree, change.path)
        and (change.path not in still or _is_cut_short(here, checkout, change))
    }


def _is_link(worktree: str, path: str) -> bool:
    found = find_file(worktree, path)
    return found is not None and stat.S_ISLNK(found.st_mode)


def _is_cut_short(here: Git, checkout: Checkout, change: Change) -> bool:
    """Tell whether a file holds the beginning of the new content: git was killed as it wrote."""
    data = read_file(checkout.worktree, change.path)
    if data is None:
        return False
    return here.run("cat-file", "blob", change.new_oid).out.startswith(data)


def _write(here: Git, paths: list[str], *, index: str) -> list[str]:
    """Write files as an index has them; return those that cannot be written."""
    if not paths:
        return []
    done = here.run(
        "checkout-index", "-f", "-q", "-z", "--stdin",
        stdin=b"".join(os.fsencode(path) + b"\0" for path in paths),
        env={"GIT_INDEX_FILE": index}, ok=range(256),
    )  # fmt: skip
    if done.status == 0:
        return []
    if len(paths) == 1:
        return paths
    middle = len(paths) // 2
    return _write(here, paths[:middle], index=index) + _write(here, paths[middle:], index=index)
