"""Files and directories that git work needs: private directories, atomic writes, index copies.

A private directory is locked (flock) by whoever made it; one whose lock is free was left by a
killed process and is swept by the next. shutil and tempfile are not used for their import cost.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from gitworker.errors import Naming, Refused
from gitworker.paths import find_top, regular

OWNER_ALL = 0o700
READ_BY_GIT = frozenset({".git", ".gitattributes", ".gitignore", ".gitmodules", ".mailmap"})
OBJECTS = "objects"  # large, and git opens no FIFO there
FICLONE = 0x40049409  # ioctl_ficlone(2); other systems refuse the number


@contextmanager
def private_directory(parent: str, prefix: str) -> Iterator[str]:
    """Yield a new empty directory `<parent>/<prefix><random>` and remove it afterwards.

    Directories of the same prefix whose maker was killed are removed first.
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
    """Make a directory for files of ours, with its parents; one that exists stays.

    Raises Refused if the name is a link, which could lead to a user's files, or no directory.
    """
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    if mode and not stat.S_ISDIR(mode):
        raise Refused(
            f"{path} is not a directory, and gitworker keeps files of its own there",
            f"mv {path} {path}.found",
            code="place_taken",
        )
    os.makedirs(path, exist_ok=True)


def remove_tree(path: str) -> None:
    """Remove a file or directory tree, read-only directories included; absent is fine."""
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
    """Move a directory to a free path in which no process works.

    If the system cannot rename it (EXDEV: an overlay) it is copied, and removed after the copy was
    compared. Raises OSError, with nothing changed, for a tree with a mount or a special file in it.
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
        if isinstance(error, shutil.Error):  # it has no number
            raise OSError(errno.EXDEV, str(error), source) from error
        raise
    remove_tree(source)


def is_mounted_in(path: str) -> bool:
    """Tell whether a file system is mounted below a directory, as far as its last name tells."""
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
    """Tell whether two directories hold the same names, links and bytes."""
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
    """Replace the file `path` by `data` at once, on disk before the name changes."""
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
    """Replace the file `path` by data that only saves time: not synced, and a failure is none."""
    partial = f"{path}.{os.getpid()}.tmp"
    try:
        with open(partial, "wb", opener=regular) as file:
            file.write(data)
        os.replace(partial, path)
    except OSError:
        return


def clone_file(source: str, target: str) -> bool:
    """Copy a file's content by sharing its blocks; tell whether the file system could.

    Where it could not nothing is left.
    """
    with open(source, "rb", opener=regular) as original:
        descriptor = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            fcntl.ioctl(descriptor, FICLONE, original.fileno())
            return True
        except OSError:  # it cannot, or the two lie on different ones
            os.unlink(target)
            return False
        finally:
            os.close(descriptor)


def copy_index(source: str, copy: str) -> None:
    """Copy an index file, its modification time too; an absent one gives no copy.

    git takes an entry as young as its index for possibly changed. A copy with a later time would
    hide a change made in the very tick in which the index was written.
    """
    try:
        with open(source, "rb", opener=regular) as file:
            data = file.read()
            times = os.fstat(file.fileno())
    except FileNotFoundError:
        return
    with Naming(copy), open(copy, "wb", opener=regular) as file:
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
        except OSError:  # its maker lives
            continue
        finally:
            os.close(lock)


def _make_locked(parent: str, prefix: str) -> tuple[str, int]:
    """Make and lock a directory; again where a sweeper took it before we had the lock."""
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

    Whoever can write in a worktree can make one.
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
            except OSError:  # it has gone meanwhile
                continue
