"""Where the main worktree is. Seen from another worktree, git tells its git directory only.

Where that lies elsewhere (git init --separate-git-dir), nothing in it names the main worktree: the
first command there notes it for those from other worktrees, in the state directory.
"""

import os

from gitworker.errors import Naming
from gitworker.paths import Repository, StatePaths, regular, state_paths
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
    """Return the directory whose `.git` names this git directory: around it, or as noted."""
    common_dir = repository.common_dir
    for place in (os.path.dirname(common_dir), _read(state_paths(repository))):
        if _points_to(place, common_dir):
            return place
    return None


def note_main_worktree(paths: StatePaths, repository: Repository) -> None:
    """Note where the main worktree is, in a repository that does not tell, from there."""
    if repository.is_linked or os.path.basename(repository.common_dir) == ".git":
        return
    if repository.top is None or _read(paths) == repository.top:
        return
    partial = f"{paths.root}/{NOTE}.{os.getpid()}.tmp"
    try:
        with (
            Naming(partial),
            open(partial, "w", encoding="utf-8", errors="surrogateescape", opener=regular) as file,
        ):
            file.write(f"{repository.top}\n")
        os.replace(partial, f"{paths.root}/{NOTE}")
    except OSError:  # that the state directory cannot be written is told elsewhere
        return


def _read(paths: StatePaths) -> str:
    try:
        with open(
            f"{paths.root}/{NOTE}", encoding="utf-8", errors="surrogateescape", opener=regular
        ) as file:
            return file.read().removesuffix("\n")
    except OSError:
        return ""


def _points_to(place: str, common_dir: str) -> bool:
    """Tell whether the file `.git` in a directory leads to this git directory itself."""
    try:
        with open(
            f"{place}/.git", encoding="utf-8", errors="surrogateescape", opener=regular
        ) as file:
            named = file.read().removeprefix("gitdir: ").removesuffix("\n")
        return os.path.realpath(os.path.join(place, named)) == os.path.realpath(common_dir)
    except (OSError, ValueError):  # a directory, none, or a damaged note (NUL bytes)
        return False
