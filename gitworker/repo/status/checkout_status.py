"""The state of a checkout: its open operation, its uncommitted work.

On the hot path of the agents' hooks, so `dataclasses` (10 ms) is not imported.
"""

from __future__ import annotations

import os

from gitworker.paths import open_regular
from gitworker.repo.status.special_files import is_work

TYPE_CHECKING = False  # `typing` costs 8 ms
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitworker.repo.plumbing.git import Git

# Files and directories of an admin directory, with the operation that each one marks.
MARKS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
SIGNS = frozenset({"sequencer", *(name.partition("/")[0] for name, _ in MARKS)})
NAMED_MAX = 5  # paths in a message
END = {"bisect": "bisect reset"}


class CheckoutStatus:
    """The uncommitted work in a worktree, including work inside submodules.

    `paths` are the tracked ones, sorted, without submodules that changed only in their work tree:
    git moves a branch without touching those. `untracked_paths` name an untracked directory once.
    """

    __slots__ = ("paths", "staged", "unmerged", "unstaged", "untracked", "untracked_paths")

    def __init__(
        self,
        paths: list[str],
        untracked_paths: list[str],
        *,
        staged: int,
        unstaged: int,
        unmerged: int,
    ) -> None:
        self.paths = tuple(sorted(paths))
        self.untracked_paths = tuple(sorted(untracked_paths))
        self.staged, self.unstaged, self.unmerged = staged, unstaged, unmerged
        self.untracked = len(untracked_paths)

    @property
    def is_clean(self) -> bool:
        """Return whether nothing is uncommitted or untracked (ignored files do not count)."""
        return not (self.staged or self.unstaged or self.untracked or self.unmerged)


def open_operation(admin_dir: str) -> str | None:
    """Return the operation in progress in a worktree (as `rebase`), by its files, without a fork.

    `admin_dir` is the worktree's own git directory.
    """
    try:  # one listing instead of eight checks; `status` asks for every worker
        if SIGNS.isdisjoint(os.listdir(admin_dir)):
            return None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # it cannot be listed
        pass
    for name, operation in MARKS:
        if os.path.lexists(f"{admin_dir}/{name}"):
            return operation
    if os.path.isfile(f"{admin_dir}/sequencer/todo"):
        return _sequence(admin_dir)
    return None


def end_command(operation: str) -> str:
    """Return the git subcommand that ends an operation, as `merge --continue`, with a remark.

    A command that drops the operation is only in the remark: it would drop resolved conflicts.
    """
    return END.get(operation, f"{operation} --continue   # or, to drop it: --abort")


def read_status(git: Git, *, untracked: bool = True, renew: bool = False) -> CheckoutStatus:
    """Return a worktree's status by one `git status`.

    An untracked directory counts once, or not at all without `untracked`. Entries that git cannot
    store (a device node, a socket, a FIFO) do not count. `git` is at the worktree's top. It takes
    no lock unless `renew` lets git refresh the index, as the user's own status does: until then git
    reads a file that is as young as the index again in every check.
    """
    done = git.run(
        "status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=none",
        f"--untracked-files={'normal' if untracked else 'no'}",
        env={} if renew else {"GIT_OPTIONAL_LOCKS": "0"},
    )  # fmt: skip
    counts = {"staged": 0, "unstaged": 0, "unmerged": 0}
    paths: list[str] = []
    untracked_paths: list[str] = []
    for entry in done.text.split("\0"):
        kind = entry[:1]
        if kind == "?":
            if is_work(git.directory, entry[2:]):
                untracked_paths.append(entry[2:])
        elif kind == "u":
            counts["unmerged"] += 1
            paths.append(entry.split(" ", 10)[10])
        elif kind == "1":
            fields = entry.split(" ", 8)
            counts["staged"] += fields[1][0] != "."
            counts["unstaged"] += fields[1][1] != "."
            if fields[1][0] != "." or fields[2][0] != "S":
                paths.append(fields[8])
    return CheckoutStatus(paths, untracked_paths, **counts)


def name_paths(paths: Iterable[str], limit: int = NAMED_MAX) -> str:
    """Return paths as a short list for a message."""
    listed = sorted(paths)
    more = len(listed) - limit
    return ", ".join(listed[:limit]) + (f" and {more} more" if more > 0 else "")


def _sequence(admin_dir: str) -> str:
    with open(
        f"{admin_dir}/sequencer/todo", encoding="utf-8", errors="replace", opener=open_regular
    ) as file:
        return "revert" if file.readline().startswith(("revert", "r ")) else "cherry-pick"
