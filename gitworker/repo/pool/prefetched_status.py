"""The dirty check of a parked worktree, which starts before a spawn has claimed it.

git reads the status of every file, which takes as long as the imports of a spawn. So the entry
point starts to check the worktree that will most likely be taken. It finds it in a list that the
pool job wrote. A spawn that takes another worktree checks again. The running checks stay in this
module.

The check uses a private index, in which git remembers directories without untracked files
(core.untrackedCache in git-config(1)), so it need not read them again. The worktree's own index has
no such data, since it is valid only at the parked path. The module `parked` makes the index.

A spawn from the pool waits for this check longer than for anything else, so this module imports
nothing slow.
"""

from __future__ import annotations

import os

from gitworker import clock
from gitworker.paths import open_regular
from gitworker.repo.plumbing.git import Git

FRESH_MS = 1000  # an older check proves nothing, for example after a wait for a lock
LIST = "pool-parked"  # in the state directory: the parked worktrees, the first to be taken first
# A file system monitor would watch the wrong path after the worktree has moved.
UNWATCHED = "core.fsmonitor=false"
INDEX = "look"  # in an entry of the pool
PARKED_GIT_FILE = "gitdir: ../admin"  # relative: an entry is renamed several times
STATUS = ("status", "--porcelain", "--no-renames", "--ignore-submodules=none",
          "--untracked-files=normal")  # fmt: skip


class _DirtyCheck:
    """A process that checks a parked worktree."""

    __slots__ = ("running", "started_ms")

    def __init__(self, path: str) -> None:
        # One thread of git only, so that processor time is left for the imports.
        self.running = Git(f"{path}/tree").start(
            "-c", UNWATCHED, "-c", "core.preloadIndex=false", *STATUS,
            env={"GIT_INDEX_FILE": f"{path}/{INDEX}", "GIT_OPTIONAL_LOCKS": "0"},
        )  # fmt: skip
        self.started_ms = clock.monotonic_ms()

    def is_fresh(self) -> bool:
        return clock.monotonic_ms() - self.started_ms <= FRESH_MS


_checks: dict[str, _DirtyCheck] = {}  # the running checks of this process, by the entry's path


def prefetch_dirty_check(state_root: str) -> None:
    """Start to check the first listed worktree that can be checked, if there is one."""
    common_dir = os.path.dirname(state_root)
    for path in read_list(state_root):
        if is_parked_for(common_dir, path) and start_dirty_check(path):
            return


def start_dirty_check(path: str) -> bool:
    """Start to check an entry unless a check has just begun; False without a private index."""
    check = _checks.get(path)
    if check is not None and check.is_fresh():
        return True
    if not os.path.exists(f"{path}/{INDEX}"):
        return False
    _abandon(path)
    _checks[path] = _DirtyCheck(path)
    return True


def is_found_clean(path: str) -> bool:
    """Wait for the check of an entry; return whether it found only ignored files.

    False if no check of the entry was started within the last second.
    """
    check = _checks.get(path)
    if check is None or not check.is_fresh() or _checks.pop(path, None) is not check:
        return False
    done = check.running.finish()
    return done.status == 0 and not done.out


def end_dirty_checks() -> None:
    """End all checks that no spawn has used."""
    for path in list(_checks):
        _abandon(path)


def _abandon(path: str) -> None:
    check = _checks.pop(path, None)  # only one thread gets it
    if check is not None:
        check.running.abandon()


def is_parked_for(common_dir: str, path: str) -> bool:
    """Return whether an entry is whole: its worktree, its admin directory and this repository.

    False for an entry of a repository that this one was copied from, if a part is a symbolic link,
    and if `.git` leads anywhere but to the entry's own admin directory: git would work elsewhere.
    """
    if any(os.path.islink(one) for one in (path, f"{path}/tree", f"{path}/admin")):
        return False
    if _line(f"{path}/tree/.git") != PARKED_GIT_FILE:
        return False
    named = _line(f"{path}/admin/commondir")
    return named == common_dir or (
        bool(named) and os.path.realpath(named) == os.path.realpath(common_dir)
    )


def _line(path: str) -> str:
    try:
        with open(path, "rb", opener=open_regular) as file:
            return os.fsdecode(file.read()).removesuffix("\n").replace("\0", "")
    except (OSError, ValueError):  # the list is only a hint and may name garbage
        return ""


def read_list(state_root: str) -> list[str]:
    """Return the listed parked worktrees: only a guess, which saves time."""
    try:
        with open(f"{state_root}/{LIST}", "rb", opener=open_regular) as file:
            return os.fsdecode(file.read()).splitlines()
    except OSError:
        return []
