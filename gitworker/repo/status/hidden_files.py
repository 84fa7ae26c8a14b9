"""Changes that an index hides: tracked files with a flag that makes git ignore their changes.

Users set `--assume-unchanged` and `--skip-worktree` (git-update-index(1)) on files that they change
and never commit. `git status` reports them as unchanged, so they are checked here before a worktree
is removed.
"""

import os
from collections.abc import Mapping

from gitworker.paths import open_regular, require_top
from gitworker.repo.plumbing.disk import copy_index, private_directory
from gitworker.repo.plumbing.git import Git
from gitworker.repo.status.special_files import is_work
from gitworker.repo.status.tracked_files import is_there

STATUS = (
    "status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=none",
    "--untracked-files=normal",
)  # fmt: skip
HEADER = 12
FLAGS = 60  # offset in an entry with a 20-byte id: 40 bytes of stat, the id, then two of flags
ASSUME_UNCHANGED, EXTENDED = 0x80, 0x40  # extended: skip-worktree or intent-to-add
CHECKSUM = 20


def holds_work(git: Git, *, is_calm: bool = False) -> bool:
    """Return whether anything in a worktree is uncommitted, hidden or not, or untracked.

    The index is read while git checks the files. With `is_calm` git uses one processor for that and
    leaves the others to foreground commands.
    """
    calm = ("-c", "core.preloadIndex=false") if is_calm else ()
    running = git.start("--no-optional-locks", *calm, *STATUS)
    hiding = may_hide(f"{require_top(git.directory).git_dir}/index")
    entries = git.finish(running, STATUS).text.split("\0")
    if any(entry and (entry[0] != "?" or is_work(git.directory, entry[2:])) for entry in entries):
        return True
    return hiding and bool(hidden_changes(git))


def hidden_changes(git: Git) -> tuple[str, ...]:
    """Return the files in a worktree whose change is hidden by a flag, as git sorts them.

    Usually no entry has a flag; then it costs one read of the index and no process.
    """
    admin_dir = require_top(git.directory).git_dir
    if not may_hide(f"{admin_dir}/index"):
        return ()
    with private_directory(admin_dir, "gitworker-hidden-") as private:
        env = {"GIT_INDEX_FILE": f"{private}/index"}
        copy_index(f"{admin_dir}/index", env["GIT_INDEX_FILE"])
        if not reveal(git, env):
            return ()
        git.run("update-index", "-q", "--refresh", env=env, ok=(0, 1))
        done = git.run("diff-files", "--name-only", "-z", "--ignore-submodules=none", env=env)
    return tuple(path for path in done.text.split("\0") if path)


def reveal(git: Git, env: Mapping[str, str]) -> bool:
    """Clear the flags of existing files in the index of `env`; return whether there were any.

    A file that is absent hides nothing: a sparse checkout leaves it out.
    """
    if not may_hide(env["GIT_INDEX_FILE"]):
        return False
    entries = git.run("ls-files", "-v", "-z", env=env).text.split("\0")
    flagged = [entry[2:] for entry in entries if entry[:1] == "S" or entry[:1].islower()]
    present = [path for path in flagged if is_there(git.directory, path)]
    if not present:
        return False
    names = os.fsencode("".join(f"{path}\0" for path in present))
    for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
        git.run("update-index", flag, "-z", "--stdin", stdin=names, env=env)
    return True


def may_hide(index: str) -> bool:
    """Return whether an entry of an index file may have a flag (gitformat-index(5)).

    True for a format that is not read here: a split index, ids of 32 bytes.
    """
    try:
        with open(index, "rb", opener=open_regular) as file:
            data = file.read()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    version, count = data[7:8], int.from_bytes(data[8:HEADER], "big")
    if version not in (b"\2", b"\3"):
        return True
    place = HEADER
    try:
        for _ in range(count):
            flags = data[place + FLAGS]
            if flags & (ASSUME_UNCHANGED | EXTENDED):
                return True
            length = (flags & 0xF) << 8 | data[place + FLAGS + 1]
            if length == 0xFFF:  # the maximum, or longer
                length = data.index(0, place + FLAGS + 2) - place - FLAGS - 2
            place += (FLAGS + 2 + length + 8) & ~7  # one to eight zero bytes
    except (IndexError, ValueError):
        return True
    return not _ends_well(data, place)


def _ends_well(data: bytes, place: int) -> bool:
    """Return whether extensions and checksum follow, and no extension is a link to an index."""
    while place < len(data) - CHECKSUM:
        if data[place : place + 4] == b"link":
            return False
        place += 8 + int.from_bytes(data[place + 4 : place + 8], "big")
    return place == len(data) - CHECKSUM
