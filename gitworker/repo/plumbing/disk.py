"""Files and directories for work with git: private directories, atomic writes, index copies.

The process that makes a private directory keeps it locked (flock). If the lock is free, the maker
was killed, and the next process removes the directory. shutil and tempfile are not imported at the
top because their import is slow.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from gitworker.errors import Naming, Refused
from gitworker.paths import find_top, open_regular
from gitworker.rules_text import quoted

OWNER_ALL = 0o700
READ_BY_GIT = frozenset({".git", ".gitattributes", ".gitignore", ".gitmodules", ".mailmap"})
OBJECTS = "objects"  # large, and git opens no FIFO there
FICLONE = 0x40049409  # ioctl_ficlone(2); other systems refuse the number


@contextmanager
def private_directory(parent: str, prefix: str) -> Iterator[str]:
    """Yield a new empty directory `<parent>/<prefix><random>` and remove it afterwards.

    First remove directories of the same prefix if the process that made them was killed.
    """
    os.makedirs(parent, exist_ok=True)
    _sweep(parent, prefix)
    path, lock = _make_locked(parent, prefix)
    try:
        yield path
    finally:
        remove_tree(path)
        os.close(lock)


def make_own_directory(path: str) -> None:
    """Make a directory for gitworker's own files, with its parents; keep one that exists.

    Raises Refused if the path is not a directory, or is a link, which could lead to a user's files.
    """
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    if mode and not stat.S_ISDIR(mode):
        raise Refused(
            f"{path} is not a directory, and gitworker keeps files of its own there",
            f"mv {quoted(path)} {quoted(path)}.found",
            code="place_taken",
        )
    os.makedirs(path, exist_ok=True)


def remove_tree(path: str) -> None:
    """Remove a file or a directory tree, read-only directories included; do nothing if absent."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(info.st_mode):
        os.unlink(path)
        return
    if info.st_mode & OWNER_ALL != OWNER_ALL:
        os.chmod(path, OWNER_ALL)
    with os.scandir(path) as entries:
        names = [entry.path for entry in entries]
    for name in names:
        remove_tree(name)
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return


def move_tree(source: str, target: str) -> None:
    """Move a directory, in which no process works, to a path that does not exist yet.

    If the system cannot rename it (EXDEV on an overlay), copy it, compare the copy, and remove the
    source. Raises OSError, with nothing changed, if the tree contains a mount or a special file.
    """
    try:
        os.rename(source, target)
        return
    except OSError as error:
        if error.errno != errno.EXDEV or is_mounted_in(source):
            raise
    import shutil  # 10 ms, only on an overlay

    try:
        shutil.copytree(source, target, symlinks=True, copy_function=_copy_regular)
        if not _is_same_tree(source, target):
            raise OSError(errno.EXDEV, "it changed while it was copied", source)
    except BaseException as error:
        remove_tree(target)
        if isinstance(error, shutil.Error):  # it has no errno
            raise OSError(errno.EXDEV, str(error), source) from error
        raise
    remove_tree(source)


def is_mounted_in(path: str) -> bool:
    """Return whether a file system is mounted below a directory; only its last name is compared."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            return f"/{os.path.basename(path)}/" in file.read()
    except OSError:
        return False


def _copy_regular(source: str, target: str) -> None:
    import shutil

    if not os.path.islink(source) and not os.path.isfile(source):
        raise OSError(errno.EXDEV, "it holds a special file", source)
    shutil.copy2(source, target, follow_symlinks=False)


def _is_same_tree(one: str, other: str) -> bool:
    """Return whether two directories contain the same names, links and bytes."""
    import filecmp

    names = sorted(os.listdir(one))
    if names != sorted(os.listdir(other)):
        return False
    for first, second in ((f"{one}/{name}", f"{other}/{name}") for name in names):
        if os.path.islink(first):
            same = os.path.islink(second) and os.readlink(first) == os.readlink(second)
        elif os.path.isdir(first):
            same = _is_same_tree(first, second)
        else:
            same = filecmp.cmp(first, second, shallow=False)
        if not same:
            return False
    return True


def write_atomically(path: str, data: bytes) -> None:
    """Replace the file `path` by `data` atomically; the data is synced before the rename."""
    temporary = f"{path}.{os.urandom(6).hex()}"
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    try:
        with Naming(path), os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_hint(path: str, data: bytes) -> None:
    """Replace the file `path` by data that only saves time: no sync, and errors are ignored."""
    partial = f"{path}.{os.getpid()}.tmp"
    try:
        with open(partial, "wb", opener=open_regular) as file:
            file.write(data)
        os.replace(partial, path)
    except OSError:
        return


def clone_file(source: str, target: str) -> bool:
    """Copy a file by sharing its blocks; return whether the file system supports it.

    If it does not, `target` is removed again.
    """
    with open(source, "rb", opener=open_regular) as original:
        descriptor = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            fcntl.ioctl(descriptor, FICLONE, original.fileno())
            return True
        except OSError:  # not supported, or two different file systems
            os.unlink(target)
            return False
        finally:
            os.close(descriptor)


def copy_index(source: str, copy: str) -> None:
    """Copy an index file with its modification time; do nothing if it does not exist.

    git checks the content of a file whose entry is as young as the index. A copy with a later time
    would hide a change made in the same clock tick in which the index was written.
    """
    try:
        with open(source, "rb", opener=open_regular) as file:
            data = file.read()
            times = os.fstat(file.fileno())
    except FileNotFoundError:
        return
    with Naming(copy), open(copy, "wb", opener=open_regular) as file:
        file.write(data)
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))


def _sweep(parent: str, prefix: str) -> None:
    with os.scandir(parent) as entries:
        old = [entry.path for entry in entries if entry.name.startswith(prefix)]
    for path in old:
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(path)
        except OSError:  # its maker is alive
            continue
        finally:
            os.close(lock)


def _make_locked(parent: str, prefix: str) -> tuple[str, int]:
    """Make and lock a directory; make another if a sweep removed it before it was locked."""
    while True:
        path = f"{parent}/{prefix}{os.urandom(6).hex()}"
        os.mkdir(path, OWNER_ALL)
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.isdir(path):
                return path, lock
        except OSError:
            pass
        os.close(lock)


def find_fifo(directory: str, git_dir: str | None = None) -> str | None:
    """Return the first FIFO that a git in this directory may wait for, or None.

    Every user who can write in a worktree can make one.
    """
    repository = find_top(directory)
    places = {git_dir} if repository is None else {repository.git_dir, repository.common_dir}
    for name in sorted(place for place in places if place):
        found = next(_fifos(name, without=OBJECTS), None)
        if found is not None:
            return found
    below = _fifos(directory, without=".git")
    return next((path for path in below if os.path.basename(path) in READ_BY_GIT), None)


def _fifos(top: str, *, without: str) -> Iterator[str]:
    for folder, folders, files in os.walk(top):
        if without in folders:
            folders.remove(without)
        for name in files:
            path = os.path.join(folder, name)
            try:
                if stat.S_ISFIFO(os.lstat(path).st_mode):
                    yield path
            except OSError:  # deleted meanwhile
                continue
