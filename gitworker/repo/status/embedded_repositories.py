"""Repositories inside a worktree that its index names as submodules, their `.git` in the worktree.

`git clone` and `git add` make one, `git submodule add` of a clone too. What is committed in them
goes with the worktree, where a submodule that git has cloned keeps it in a module directory.
"""

import os
from collections.abc import Iterator

from gitworker.paths import regular
from gitworker.repo.plumbing.git import Git

LINK_MODE = b"\0\0\xe0\0"  # of a submodule's entry in an index file, gitformat-index(5)
SHARED = "sharedindex."  # where a split index has its entries


def may_have_submodules(admin_dir: str) -> bool:
    """Tell whether a worktree may have submodules, filled or not, by its admin directory alone.

    No process is started; an index in which other bytes look like an entry's mode counts as well.
    """
    if os.path.isdir(f"{admin_dir}/modules"):
        return True
    try:
        with open(f"{admin_dir}/index", "rb", opener=regular) as file:
            if LINK_MODE in file.read():
                return True
        return any(name.startswith(SHARED) for name in os.listdir(admin_dir))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def find_embedded(here: Git) -> Iterator[tuple[str, str]]:
    """Yield path and git directory of every embedded repository of the worktree `here` runs in."""
    for entry in here.run("ls-files", "--stage", "-z").out.split(b"\0"):
        if entry.startswith(b"160000 "):
            path = os.fsdecode(entry.partition(b"\t")[2])
            git_dir = own_git_dir(here.directory, path)
            if git_dir is not None:
                yield path, git_dir


def own_git_dir(worktree: str, path: str) -> str | None:
    """Return the git directory that an embedded repository has in itself, None where it has not."""
    git_dir = f"{worktree}/{path}/.git"
    is_own = os.path.isdir(git_dir) and os.path.realpath(git_dir).startswith(
        f"{os.path.realpath(worktree)}/"
    )
    return git_dir if is_own and os.path.isfile(f"{git_dir}/HEAD") else None
