"""Putting back, path by path, the files of a checkout that stopped half-way.

git checks everything before it touches a file, so an interruption after that (a filter, a full
disk, a kill) leaves some files new, some old, one missing or cut short, and the index as it was.
Every recovery of a checkout begins here: files become what the index says, then git moves both. A
file changes only if nothing is lost by it: it is missing, or all its bytes are one of the commits'.
Only the worktree's own index is believed, never a private one that an earlier recovery left.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.repo.plumbing.disk import copy_index
from gitworker.repo.plumbing.git import Git
from gitworker.repo.status.checkout_status import Change, changes_between
from gitworker.repo.status.tracked_files import (
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
    """A checkout that may have stopped between `old` and `new`; `index` has the entries of one.

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
    """Paths that are not as they were: `missing` could not be written, `changed` are unknown.

    `written` are those that were written again.
    """

    missing: tuple[str, ...]
    changed: tuple[str, ...]
    written: tuple[str, ...] = ()


def has_begun(complaint: str) -> bool:
    """Tell by git's own words whether a checkout that failed may have moved files."""
    return not any(words in complaint for words in REFUSED_BEFORE)


def put_back(here: Git, checkout: Checkout) -> Left:
    """Make the files that a checkout had moved what the index says; return what is left.

    Idempotent. Only files change; `renew_entries` makes the index know them.
    """
    with _suspected(here, checkout) as seen:
        for path in seen.changes.keys() - seen.tracked - seen.suspects:
            if is_younger(checkout, path):
                drop_empty_parents(checkout.worktree, path)  # made for a file that never came
        if not seen.suspects:
            return Left((), ())
        moved = _find_moved_files(here, checkout, seen)
        for path in sorted(moved, reverse=True):
            if path not in seen.tracked or _is_link(checkout.worktree, path):
                unlink_file(checkout.worktree, path)
        wanted = sorted(
            path
            for path in seen.suspects & seen.tracked
            if path in moved or not is_there(checkout.worktree, path)
        )
        missing = _write(here, wanted, index=checkout.index)
        changed = seen.suspects - moved - set(wanted)
        written = tuple(path for path in wanted if path not in missing)
        return Left(tuple(missing), tuple(sorted(changed)), written)


def renew_entries(here: Git, paths: Iterable[str], *, index: str | None = None) -> None:
    """Let an index know that files were written again with the content of its entries.

    git trusts a size in the index, so a file that was written with other line ends would count as
    changed for ever. Without `index` it is the worktree's own, under git's lock.
    """
    wanted = set(paths)
    if not wanted:
        return
    env = {} if index is None else {"GIT_INDEX_FILE": index}
    listed = here.run("ls-files", "--stage", "-z", env=env).text.split("\0")
    text = "".join(f"{line}\0" for line in listed if line.partition("\t")[2] in wanted)
    ok = (0, 1, 128)  # 128: another git holds the lock; the user's next `git add` sees it
    here.run("update-index", "-z", "--index-info", stdin=os.fsencode(text), env=env, ok=ok)
    here.run("update-index", "-q", "--refresh", env=env, ok=ok)


def find_moved(here: Git, checkout: Checkout) -> tuple[str, ...]:
    """Return the paths whose files may have been moved; nothing changes."""
    with _suspected(here, checkout) as seen:
        return tuple(sorted(seen.suspects))


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


class _Seen(NamedTuple):
    """The paths that change, those in the index, and those whose young file is not as it says."""

    changes: dict[str, Change]
    tracked: set[str]
    suspects: set[str]


@contextmanager
def _suspected(here: Git, checkout: Checkout) -> Iterator[_Seen]:
    """Yield what to look at. Meanwhile the scratch index exists, with the entries of the index."""
    between = changes_between(here, checkout.old, checkout.new)
    changes = {change.path: change for change in between if not _is_gitlink(change)}
    try:
        _drop_scratch(checkout)  # of a recovery that was killed
        copy_index(checkout.index, checkout.scratch)
        listed = here.run("ls-files", "-z", env={"GIT_INDEX_FILE": checkout.scratch}).text
        tracked = changes.keys() & set(listed.split("\0"))
        found = find_differing(here, checkout.scratch) & tracked
        found |= {path for path in changes.keys() - tracked if is_there(checkout.worktree, path)}
        suspects = {path for path in found if is_younger(checkout, path)}
        yield _Seen(changes, tracked, suspects)
    finally:
        _drop_scratch(checkout)


def _drop_scratch(checkout: Checkout) -> None:
    for file in (checkout.scratch, f"{checkout.scratch}.lock"):
        if os.path.lexists(file):
            os.unlink(file)


def _find_moved_files(here: Git, checkout: Checkout, seen: _Seen) -> set[str]:
    """Return the suspects whose file is a whole or cut short version of one of the commits."""
    moved: set[str] = set()
    for source, goal in ((checkout.old, checkout.new), (checkout.new, checkout.old)):
        sides = [c for c in changes_between(here, source, goal) if c.path in seen.suspects]
        moved |= _find_arrived(here, checkout, sides)
    return moved


def _find_arrived(here: Git, checkout: Checkout, suspects: list[Change]) -> set[str]:
    """Return the paths whose file is the new side of its change, or the beginning of it."""
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
    """Tell whether a file holds the beginning of the content that git was writing when it ended."""
    data = read_file(checkout.worktree, change.path)
    if data is None:
        return False
    if not data:
        return True
    words = ("cat-file", "--filters", f"--path={change.path}", change.new_oid)
    filtered = here.run(*words, ok=range(256))  # as it comes into a worktree: line ends, filters
    if filtered.status == 0 and filtered.out.startswith(data):
        return True
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
