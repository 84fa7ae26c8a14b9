"""Put back, path by path, the files of a checkout that stopped midway.

git checks everything before it touches a file. So an interruption after that (a filter, a full
disk, a kill) leaves some files new, some old, one missing or truncated, and the index unchanged.
Every recovery of a checkout begins here: restore the files to the state in the index, then let git
move both. A file changes only if nothing is lost: it is missing, or all its bytes are those of one
of the two commits. Only the worktree's own index is used, never a private one of an earlier
recovery.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.repo.plumbing.disk import copy_index
from gitworker.repo.plumbing.git import Git
from gitworker.repo.status.path_changes import Change, changes_between
from gitworker.repo.status.tracked_files import (
    drop_empty_parents,
    find_file,
    is_there,
    read_file,
    unlink_file,
)

GITLINK = "160000"
# git's messages if it refuses before it touches a file (unpack-trees.c, both wordings).
REFUSED_BEFORE = (
    "Cannot merge", "would be overwritten", "would be removed", "would lose untracked",
    "Refusing to remove",
)  # fmt: skip
CLOCK_TICK_MS = 20  # the kernel dates files by a clock that may be one tick late


class PartialCheckout(NamedTuple):
    """A checkout that may have stopped between `old` and `new`; `index_file` belongs to one.

    Files that were last changed before `since_ms` (epoch) were not moved by it and stay.
    """

    worktree: str
    index_file: str
    old: Oid
    new: Oid
    since_ms: int = 0

    @property
    def scratch(self) -> str:
        """Return the path of a temporary index for the comparison."""
        return f"{self.index_file}.gitworker-back"


class Unrestored(NamedTuple):
    """Paths that were not restored: `missing` cannot be written, `changed` have unknown content.

    `written` are the paths that were restored.
    """

    missing: tuple[str, ...]
    changed: tuple[str, ...]
    written: tuple[str, ...] = ()


def has_begun(complaint: str) -> bool:
    """Return whether a failed checkout may have moved files, judged by git's message."""
    return not any(words in complaint for words in REFUSED_BEFORE)


def put_back(here: Git, checkout: PartialCheckout) -> Unrestored:
    """Restore the files that a checkout had moved to the state in the index; return the rest.

    Idempotent. Only files change; `renew_entries` updates the index afterwards.
    """
    with _suspected(here, checkout) as seen:
        for path in seen.changes.keys() - seen.tracked - seen.suspects:
            if is_younger(checkout, path):
                drop_empty_parents(checkout.worktree, path)  # made for a file that was not written
        if not seen.suspects:
            return Unrestored((), ())
        moved = _find_moved_files(here, checkout, seen)
        for path in sorted(moved, reverse=True):
            if path not in seen.tracked or _is_link(checkout.worktree, path):
                unlink_file(checkout.worktree, path)
        wanted = sorted(
            path
            for path in seen.suspects & seen.tracked
            if path in moved or not is_there(checkout.worktree, path)
        )
        missing = _write(here, wanted, index=checkout.index_file)
        changed = seen.suspects - moved - set(wanted)
        written = tuple(path for path in wanted if path not in missing)
        return Unrestored(tuple(missing), tuple(sorted(changed)), written)


def renew_entries(here: Git, paths: Iterable[str], *, index: str | None = None) -> None:
    """Update an index for files that were written again with the content of its entries.

    git trusts the size in the index, so a file written with other line endings would count as
    changed for ever. Without `index` the worktree's own is updated, under git's lock.
    """
    wanted = set(paths)
    if not wanted:
        return
    env = {} if index is None else {"GIT_INDEX_FILE": index}
    listed = here.run("ls-files", "--stage", "-z", env=env).text.split("\0")
    text = "".join(f"{line}\0" for line in listed if line.partition("\t")[2] in wanted)
    ok = (0, 1, 128)  # 128: another git holds the lock; the user's next `git add` updates it
    here.run("update-index", "-z", "--index-info", stdin=os.fsencode(text), env=env, ok=ok)
    here.run("update-index", "-q", "--refresh", env=env, ok=ok)


def find_moved(here: Git, checkout: PartialCheckout) -> tuple[str, ...]:
    """Return the paths whose files may have been moved; change nothing."""
    with _suspected(here, checkout) as seen:
        return tuple(sorted(seen.suspects))


def is_younger(checkout: PartialCheckout, path: str) -> bool:
    """Return whether a file changed since the checkout began; for a missing one ask its parent."""
    found = None
    while path and found is None:
        found = find_file(checkout.worktree, path)
        path = os.path.dirname(path)
    found = found or os.lstat(checkout.worktree)
    return found.st_ctime_ns // 1_000_000 >= checkout.since_ms - CLOCK_TICK_MS


def find_differing(here: Git, index: str) -> set[str]:
    """Refresh an index file; return the paths whose file differs from its entry."""
    env = {"GIT_INDEX_FILE": index}
    here.run("update-index", "-q", "--refresh", env=env, ok=(0, 1))
    out = here.run("diff-files", "--name-only", "-z", "--ignore-submodules=all", env=env).text
    return {path for path in out.split("\0") if path}


def entries(changes: Iterable[Change]) -> bytes:
    """Return the new side of changes in the format of `git update-index -z --index-info`."""
    return b"".join(
        f"{change.new_mode if change.status != 'D' else 0} {change.new_oid}\t".encode()
        + os.fsencode(change.path)
        + b"\0"
        for change in changes
    )


def _is_gitlink(change: Change) -> bool:
    return GITLINK in (change.old_mode, change.new_mode)


class _Seen(NamedTuple):
    """The changed paths, those in the index, and those whose young file differs from the index."""

    changes: dict[str, Change]
    tracked: set[str]
    suspects: set[str]


@contextmanager
def _suspected(here: Git, checkout: PartialCheckout) -> Iterator[_Seen]:
    """Yield the paths to examine; until the end the scratch index exists with the real entries."""
    between = changes_between(here, checkout.old, checkout.new)
    changes = {change.path: change for change in between if not _is_gitlink(change)}
    try:
        _drop_scratch(checkout)  # left by a killed recovery
        copy_index(checkout.index_file, checkout.scratch)
        listed = here.run("ls-files", "-z", env={"GIT_INDEX_FILE": checkout.scratch}).text
        tracked = changes.keys() & set(listed.split("\0"))
        found = find_differing(here, checkout.scratch) & tracked
        found |= {path for path in changes.keys() - tracked if is_there(checkout.worktree, path)}
        suspects = {path for path in found if is_younger(checkout, path)}
        yield _Seen(changes, tracked, suspects)
    finally:
        _drop_scratch(checkout)


def _drop_scratch(checkout: PartialCheckout) -> None:
    for file in (checkout.scratch, f"{checkout.scratch}.lock"):
        if os.path.lexists(file):
            os.unlink(file)


def _find_moved_files(here: Git, checkout: PartialCheckout, seen: _Seen) -> set[str]:
    """Return the suspects whose file is a complete or truncated version from one of the commits."""
    moved: set[str] = set()
    for source, goal in ((checkout.old, checkout.new), (checkout.new, checkout.old)):
        sides = [c for c in changes_between(here, source, goal) if c.path in seen.suspects]
        moved |= _find_arrived(here, checkout, sides)
    return moved


def _find_arrived(here: Git, checkout: PartialCheckout, suspects: list[Change]) -> set[str]:
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


def _is_cut_short(here: Git, checkout: PartialCheckout, change: Change) -> bool:
    """Return whether a file holds only the beginning of the content that git was writing."""
    data = read_file(checkout.worktree, change.path)
    if data is None:
        return False
    if not data:
        return True
    words = ("cat-file", "--filters", f"--path={change.path}", change.new_oid)
    filtered = here.run(*words, ok=range(256))  # as in a worktree: line endings, filters
    if filtered.status == 0 and filtered.out.startswith(data):
        return True
    return here.run("cat-file", "blob", change.new_oid).out.startswith(data)


def _write(here: Git, paths: list[str], *, index: str) -> list[str]:
    """Write files with the content in an index; return those that cannot be written."""
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
