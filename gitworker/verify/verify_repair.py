"""What a verify worktree may have to be mended of: closed directories, submodules, settings."""

import os
import stat

from gitworker.paths import Repository, regular
from gitworker.repo.plumbing.disk import OWNER_ALL, remove_tree
from gitworker.repo.plumbing.git import Git
from gitworker.repo.status.checkout_status import GITLINK


def settings_of(repository: Repository) -> bytes:
    """Return where a worktree is, its own settings, and those of the main one it got them from.

    A command may change them (git-sparse-checkout(1)), and so may the user.
    """
    files = [
        read_bytes(f"{place}/{name}")
        for place in (repository.git_dir, repository.common_dir)
        for name in ("config.worktree", "info/sparse-checkout")
    ]
    return b"\0".join((os.fsencode(repository.top or ""), *files))


def unlock(path: str) -> None:
    """Give ourselves every right on the directories of a tree that a command has closed."""
    open_directory(path)
    for directory, folders, _ in os.walk(path):
        for name in folders:
            open_directory(f"{directory}/{name}")


def open_directory(directory: str) -> None:
    """Give ourselves every right on a directory; anything else is left alone."""
    mode = os.lstat(directory).st_mode
    if stat.S_ISDIR(mode) and mode & OWNER_ALL != OWNER_ALL:
        os.chmod(directory, OWNER_ALL)


def empty_submodules(git: Git, tree: str, admin: str) -> None:
    """Empty the directories of submodules, which `git clean` never looks into.

    Their objects stay; their indexes go, so that the next checkout writes every file.
    """
    if not (os.path.lexists(f"{tree}/.gitmodules") or os.path.isdir(f"{admin}/modules")):
        return
    for entry in git.run("ls-files", "--stage", "-z").text.split("\0"):
        place = f"{tree}/{entry.partition(chr(9))[2]}"
        if entry.startswith(GITLINK) and os.path.isdir(place) and os.listdir(place):
            remove_tree(place)
            os.mkdir(place)
    for directory, _, files in os.walk(f"{admin}/modules"):
        if "HEAD" in files and "index" in files:
            os.unlink(f"{directory}/index")


def read_bytes(path: str) -> bytes:
    """Return a file's content, nothing where it cannot be read."""
    try:
        with open(path, "rb", opener=regular) as file:
            return file.read()
    except OSError:
        return b""


def sparse_patterns(common_dir: str) -> str:
    """Return what a main checkout is restricted to (git-sparse-checkout(1)), "" for nothing."""
    settings = read_bytes(f"{common_dir}/config.worktree") + read_bytes(f"{common_dir}/config")
    if b"sparse" not in settings.lower():
        return ""
    lines = [line for line in settings.splitlines() if b"sparse" in line.lower()]
    patterns = read_bytes(f"{common_dir}/info/sparse-checkout")
    return os.fsdecode(b"\n".join((*lines, patterns)))


def remove_nested(git: Git) -> None:
    """Remove repositories that a command has made inside directories of the project.

    git never cleans a `.git` beside tracked files, and would take the directory for another
    repository. Submodules keep theirs, and so does what holds no tracked file.
    """
    for directory, folders, files in os.walk(git.directory):
        if directory == git.directory or ".git" not in (*folders, *files):
            continue
        path = os.path.relpath(directory, git.directory)
        told = git.run("--literal-pathspecs", "ls-files", "-s", "-z", "--", path).text
        entries = [entry for entry in told.split("\0") if entry]
        if entries and not entries[0].startswith(f"{GITLINK} "):
            remove_tree(f"{directory}/.git")
        folders[:] = [name for name in folders if name != ".git"]
