"""Repositories inside a worktree that its index names as submodules, their `.git` in the worktree.

`git clone` and `git add` make one, and so does `git submodule add` of a clone. Their commits are
deleted with the worktree; for a submodule that git has cloned, they are kept in a module directory.
"""

import os
from collections.abc import Iterator

from gitworker.paths import open_regular
from gitworker.repo.plumbing.git import Git

LINK_MODE = b"\0\0\xe0\0"  # mode of a submodule's entry in an index file, gitformat-index(5)
SHARED = "sharedindex."  # a file with the entries of a split index


def may_have_submodules(admin_dir: str) -> bool:
    """Return whether a worktree may have submodules, populated or not, by its admin directory.

    No process is started; an index in which other bytes look like an entry's mode counts as well.
    """
    if os.path.isdir(f"{admin_dir}/modules"):
        return True
    try:
        with open(f"{admin_dir}/index", "rb", opener=open_regular) as file:
            if LINK_MODE in file.read():
                return True
        return any(name.startswith(SHARED) for name in os.listdir(admin_dir))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def find_embedded(here: Git) -> Iterator[tuple[str, str]]:
    """Yield path and git directory of every embedded repository in the worktree of `here`."""
    for entry in here.run("ls-files", "--stage", "-z").out.split(b"\0"):
        if entry.startswith(b"160000 "):
            path = os.fsdecode(entry.partition(b"\t")[2])
            git_dir = own_git_dir(here.directory, path)
            if git_dir is not None:
                yield path, git_dir


def own_git_dir(worktree: str, path: str) -> str | None:
    """Return the git directory inside an embedded repository, None if it has none inside."""
    git_dir = f"{worktree}/{path}/.git"
    is_own = os.path.isdir(git_dir) and os.path.realpath(git_dir).startswith(
        f"{os.path.realpath(worktree)}/"
    )
    return git_dir if is_own and os.path.isfile(f"{git_dir}/HEAD") else None
