"""Files of a checkout at paths that git named: never outside it, never through a link.

A path from a tree may contain `..` or `.git`, and a parent directory may be a symbolic link. git
does not check out such a path, so it counts as absent and is never touched. Every directory is
opened without following links, so that no link can be swapped in between.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from gitworker.repo.plumbing.rules_tree import is_safe_path

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CONTENT = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def find_file(top: str, path: str) -> os.stat_result | None:
    """Return the lstat of a tracked path; None if git could have no file there."""
    try:
        with _opened_parent(top, path) as (parent, name):
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError:
        return None


def is_inside(top: str, path: str) -> bool:
    """Return whether a path from a tree, if it exists, is below `top` and behind no link."""
    if not is_safe_path(path):
        return False
    try:
        with _opened_parent(top, path) as (parent, name):
            return not stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def is_there(top: str, path: str) -> bool:
    """Return whether anything is at a tracked path."""
    return find_file(top, path) is not None


def unlink_file(top: str, path: str) -> None:
    """Delete the file at a tracked path, and the directories above it that are then empty."""
    with _opened_parent(top, path) as (parent, name):
        os.unlink(name, dir_fd=parent)
    drop_empty_parents(top, path)


def drop_empty_parents(top: str, path: str) -> None:
    """Delete the directories above a tracked path that are empty."""
    place = os.path.dirname(path)
    while place:
        try:
            with _opened_parent(top, place) as (parent, name):
                os.rmdir(name, dir_fd=parent)
        except OSError:
            return
        place = os.path.dirname(place)


def read_file(top: str, path: str) -> bytes | None:
    """Return the content of the regular file at a tracked path, None if there is no such file."""
    found = find_file(top, path)
    if found is None or not stat.S_ISREG(found.st_mode):  # a FIFO would block
        return None
    try:
        with _opened_parent(top, path) as (parent, name):
            descriptor = os.open(name, CONTENT, dir_fd=parent)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        return file.read()


@contextmanager
def _opened_parent(top: str, path: str) -> Iterator[tuple[int, str]]:
    """Yield the open directory of a tracked path, and the last part of its name.

    Raises OSError if the path is not one that git checks out below `top`.
    """
    if not is_safe_path(path):
        raise OSError(f"git does not check out {path!r}")
    *parents, name = path.split("/")
    descriptor = os.open(top, DIRECTORY & ~os.O_NOFOLLOW)
    try:
        for parent in parents:
            below = os.open(parent, DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor, name
    finally:
        os.close(descriptor)
