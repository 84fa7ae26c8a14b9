"""Find the main worktree. From another worktree, git shows only its git directory.

If the git directory lies elsewhere (git init --separate-git-dir), nothing in it names the main
worktree. The first command there records it in the state directory for the other worktrees.
"""

import os

from gitworker.errors import Naming
from gitworker.paths import Repository, StatePaths, open_regular, state_paths
from gitworker.repo.plumbing.git import Git

NOTE = "main-worktree"  # in the state directory


def main_worktree(repository: Repository) -> str:
    """Return the root of the main worktree; a bare repository's own directory.

    A directory whose `.git` leads to a bare repository counts as its main worktree.
    """
    common_dir = repository.common_dir
    if os.path.basename(common_dir) == ".git":
        return os.path.dirname(common_dir)
    if not repository.is_linked and repository.top is not None:
        return repository.top
    known = find_separate(repository)
    if known is not None:
        return known
    configured = Git(common_dir).run("config", "--get", "core.worktree", ok=(0, 1)).text.strip()
    if configured:  # a submodule: relative to the git directory (git-config(1))
        return os.path.realpath(os.path.join(common_dir, configured))
    return common_dir


def find_separate(repository: Repository) -> str | None:
    """Return the directory whose `.git` names this git directory: parent or recorded one."""
    common_dir = repository.common_dir
    for place in (os.path.dirname(common_dir), _read(state_paths(repository))):
        if _points_to(place, common_dir):
            return place
    return None


def note_main_worktree(paths: StatePaths, repository: Repository) -> None:
    """Record the path of the main worktree, from there, if its git directory does not show it."""
    if repository.is_linked or os.path.basename(repository.common_dir) == ".git":
        return
    if repository.top is None or _read(paths) == repository.top:
        return
    partial = f"{paths.root}/{NOTE}.{os.getpid()}.tmp"
    try:
        with (
            Naming(partial),
            open(
                partial, "w", encoding="utf-8", errors="surrogateescape", opener=open_regular
            ) as file,
        ):
            file.write(f"{repository.top}\n")
        os.replace(partial, f"{paths.root}/{NOTE}")
    except OSError:  # another check reports a state directory that is not writable
        return


def _read(paths: StatePaths) -> str:
    try:
        with open(
            f"{paths.root}/{NOTE}", encoding="utf-8", errors="surrogateescape", opener=open_regular
        ) as file:
            return file.read().removesuffix("\n")
    except OSError:
        return ""


def _points_to(place: str, common_dir: str) -> bool:
    """Return whether the file `.git` in a directory leads to this git directory itself."""
    try:
        with open(
            f"{place}/.git", encoding="utf-8", errors="surrogateescape", opener=open_regular
        ) as file:
            named = file.read().removeprefix("gitdir: ").removesuffix("\n")
        return os.path.realpath(os.path.join(place, named)) == os.path.realpath(common_dir)
    except (OSError, ValueError):  # a directory, no file, or a damaged record (NUL bytes)
        return False
