"""The state of a checkout: open operation, uncommitted work, files in the way of a move."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gitworker.model.ids import Oid
from gitworker.paths import open_regular
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.rules_tree import is_safe_path
from gitworker.repo.status.special_files import is_work
from gitworker.repo.status.tracked_files import find_file

GITLINK = "160000"
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
ABORT = {"bisect": "bisect reset"}


@dataclass(frozen=True, slots=True)
class CheckoutStatus:
    """The uncommitted work in a worktree, including work inside submodules.

    `paths` are the tracked ones, sorted, without submodules that changed only in their work tree:
    git moves a branch without touching those. `untracked_paths` name an untracked directory once.
    """

    staged: int
    unstaged: int
    untracked: int
    unmerged: int
    paths: tuple[str, ...]
    untracked_paths: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Return whether nothing is uncommitted or untracked (ignored files do not count)."""
        return not (self.staged or self.unstaged or self.untracked or self.unmerged)


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two commits: A, M, T or D, with modes and the new blob."""

    status: str
    old_mode: str
    new_mode: str
    new_oid: Oid
    path: str


def open_operation(admin_dir: str) -> str | None:
    """Return the operation in progress in a worktree (as `rebase`), by its files, without a fork.

    `admin_dir` is the worktree's own git directory.
    """
    for name, operation in MARKS:
        if os.path.lexists(f"{admin_dir}/{name}"):
            return operation
    if os.path.isfile(f"{admin_dir}/sequencer/todo"):
        return _sequence(admin_dir)
    return None


def abort_command(operation: str) -> str:
    """Return the git subcommand that ends an operation, as `rebase --abort`."""
    return ABORT.get(operation, f"{operation} --abort")


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
    counts = {"staged": 0, "unstaged": 0, "untracked": 0, "unmerged": 0}
    paths, untracked_paths = [], []
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
    counts["untracked"] = len(untracked_paths)
    return CheckoutStatus(
        **counts, paths=tuple(sorted(paths)), untracked_paths=tuple(sorted(untracked_paths))
    )


def changes_between(git: Git, old: Oid, new: Oid) -> tuple[Change, ...]:
    """Return the paths that differ between two commits, sorted as git sorts them.

    Paths that git never checks out are left out: they cannot have a file in the checkout.
    """
    out = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--end-of-options", old, new)
    fields = out.text.split("\0")
    return tuple(
        Change(words[4], words[0][1:], words[1], Oid(words[3]), path)
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


def name_paths(paths: Iterable[str], limit: int = 5) -> str:
    """Return paths as a short list for a message."""
    listed = sorted(paths)
    more = len(listed) - limit
    return ", ".join(listed[:limit]) + (f" and {more} more" if more > 0 else "")


def _sequence(admin_dir: str) -> str:
    with open(
        f"{admin_dir}/sequencer/todo", encoding="utf-8", errors="replace", opener=open_regular
    ) as file:
        return "revert" if file.readline().startswith(("revert", "r ")) else "cherry-pick"


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
