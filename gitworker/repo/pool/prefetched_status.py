"""A look at a parked worktree, begun before anybody has claimed it.

git reads the status of every file, which takes as long as the imports of a spawn. So the entry
begins to look at the worktree that will most likely be taken, by a list that whoever looked after
the pool has left; who then takes another one looks again.

The look has an index of its own, in which git keeps which directories held nothing untracked
(core.untrackedCache in git-config(1)): it need not read those again. The worktree's own index has
no such thing, since it would hold at the parked place alone. `pool` makes it.

The look is the longest that a spawn from the pool waits for, so nothing heavy is imported here.
"""

from __future__ import annotations

import os

from gitworker import clock
from gitworker.paths import regular
from gitworker.repo.plumbing.git import Git

FRESH_MS = 1000  # an older look, as when somebody else had the lock, says nothing
LIST = "pool-parked"  # in the state directory: the parked worktrees, the first to be taken first
# A program that watches a worktree's files for git would watch the wrong place, once it is moved.
UNWATCHED = "core.fsmonitor=false"
INDEX = "look"  # in an entry of the pool
STATUS = ("status", "--porcelain", "--no-renames", "--ignore-submodules=none",
          "--untracked-files=normal")  # fmt: skip


class Look:
    """A process that looks at the parked worktree of the entry `path`."""

    __slots__ = ("_begun_ms", "_running", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        # One thread of git's, so that there is something left for the imports.
        self._running = Git(f"{path}/tree").start(
            "-c", UNWATCHED, "-c", "core.preloadIndex=false", *STATUS,
            env={"GIT_INDEX_FILE": f"{path}/{INDEX}", "GIT_OPTIONAL_LOCKS": "0"},
        )  # fmt: skip
        self._begun_ms = clock.monotonic_ms()

    def is_at(self, path: str) -> bool:
        """Tell whether it is at this worktree, and was begun just now."""
        return path == self.path and clock.monotonic_ms() - self._begun_ms <= FRESH_MS

    def found_nothing(self) -> bool:
        """Wait for its end; tell whether nothing but ignored files has changed."""
        done = self._running.finish()
        return done.status == 0 and not done.out

    def abandon(self) -> None:
        """End it, if nobody has waited for it."""
        self._running.abandon()


def is_parked_for(common_dir: str, path: str) -> bool:
    """Tell whether an entry of a pool is this repository's, not of one that it was copied from.

    An entry or a part of it that is a symbolic link lies elsewhere.
    """
    if any(os.path.islink(one) for one in (path, f"{path}/tree", f"{path}/admin")):
        return False
    try:
        with open(f"{path}/admin/commondir", "rb", opener=regular) as file:
            named = os.fsdecode(file.read()).removesuffix("\n")
    except (OSError, ValueError):  # the list holds garbage: it is only a hint of what is there
        return False
    return named == common_dir or os.path.realpath(named) == os.path.realpath(common_dir)


def begin_look(path: str) -> Look | None:
    """Begin to look at an entry; None where it is not prepared."""
    return Look(path) if os.path.exists(f"{path}/{INDEX}") else None


def look_early(state_root: str) -> Look | None:
    """Begin to look at the first worktree of the list that is there; None where there is none."""
    common_dir = os.path.dirname(state_root)
    paths = (path for path in read_list(state_root) if is_parked_for(common_dir, path))
    looks = (begin_look(path) for path in paths)
    return next((look for look in looks if look is not None), None)


def read_list(state_root: str) -> list[str]:
    """Return the parked worktrees by the list: only a guess, which saves time."""
    try:
        with open(f"{state_root}/{LIST}", "rb", opener=regular) as file:
            return os.fsdecode(file.read()).splitlines()
    except OSError:
        return []
