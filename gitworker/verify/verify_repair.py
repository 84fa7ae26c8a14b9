"""Repairs of a verify worktree: unwritable directories, submodules, nested repositories."""

import os
import stat

from gitworker.paths import Repository, open_regular
from gitworker.repo.plumbing.disk import OWNER_ALL, remove_tree
from gitworker.repo.plumbing.git import Git
from gitworker.repo.status.path_changes import GITLINK


def settings_of(repository: Repository) -> bytes:
    """Return a worktree's path, its own settings, and those of the main worktree (its source).

    A command may change them (git-sparse-checkout(1)), and so may the user.
    """
    files = [
        read_bytes(f"{path}/{name}")
        for path in (repository.git_dir, repository.common_dir)
        for name in ("config.worktree", "info/sparse-checkout")
    ]
    return b"\0".join((os.fsencode(repository.top or ""), *files))


def restore_access(path: str) -> None:
    """Give ourselves all rights on the directories of a tree from which a command removed them."""
    open_directory(path)
    for directory, folders, _ in os.walk(path):
        for name in folders:
            open_directory(f"{directory}/{name}")


def open_directory(directory: str) -> None:
    """Give ourselves all rights on a directory; any other file is left alone."""
    mode = os.lstat(directory).st_mode
    if stat.S_ISDIR(mode) and mode & OWNER_ALL != OWNER_ALL:
        os.chmod(directory, OWNER_ALL)


def empty_submodules(git: Git, tree: str, admin: str) -> None:
    """Empty the directories of submodules, which `git clean` never enters.

    Their objects are kept; their indexes are deleted, so that the next checkout writes every file.
    """
    if not (os.path.lexists(f"{tree}/.gitmodules") or os.path.isdir(f"{admin}/modules")):
        return
    for entry in git.run("ls-files", "--stage", "-z").text.split("\0"):
        path = f"{tree}/{entry.partition(chr(9))[2]}"
        if entry.startswith(GITLINK) and os.path.isdir(path) and os.listdir(path):
            remove_tree(path)
            os.mkdir(path)
    for directory, _, files in os.walk(f"{admin}/modules"):
        if "HEAD" in files and "index" in files:
            os.unlink(f"{directory}/index")


def read_bytes(path: str) -> bytes:
    """Return a file's content, empty if it cannot be read."""
    try:
        with open(path, "rb", opener=open_regular) as file:
            return file.read()
    except OSError:
        return b""


def sparse_patterns(common_dir: str) -> str:
    """Return the sparse patterns of the main worktree (git-sparse-checkout(1)), "" without any."""
    settings = read_bytes(f"{common_dir}/config.worktree") + read_bytes(f"{common_dir}/config")
    if b"sparse" not in settings.lower():
        return ""
    lines = [line for line in settings.splitlines() if b"sparse" in line.lower()]
    patterns = read_bytes(f"{common_dir}/info/sparse-checkout")
    return os.fsdecode(b"\n".join((*lines, patterns)))


def remove_nested(git: Git) -> None:
    """Remove repositories that a command has created inside directories of the project.

    git never cleans a `.git` beside tracked files, and would treat the directory as another
    repository. Submodules keep theirs, and so do directories without tracked files.
    """
    for directory, folders, files in os.walk(git.directory):
        if directory == git.directory or ".git" not in (*folders, *files):
            continue
        path = os.path.relpath(directory, git.directory)
        listed = git.run("--literal-pathspecs", "ls-files", "-s", "-z", "--", path).text
        entries = [entry for entry in listed.split("\0") if entry]
        if entries and not entries[0].startswith(f"{GITLINK} "):
            remove_tree(f"{directory}/.git")
        folders[:] = [name for name in folders if name != ".git"]
