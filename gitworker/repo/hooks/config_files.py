"""git's configuration files as files: read, replaced under git's own lock, restored byte for byte.

Values are always written by git. A whole file is restored only if no other program has changed it
since. Its content is kept in a pair of files `<base>-before` and `<base>-after`.
"""

import contextlib
import errno
import os
from collections.abc import Iterator

from gitworker.errors import Conflict
from gitworker.paths import open_regular
from gitworker.repo.plumbing.git import Git

Entries = list[tuple[str, str | None]]  # a key without `=` has the value None


def read_bytes(path: str) -> bytes | None:
    """Return a file's content, None if it does not exist or is not a regular file."""
    try:
        with open(path, "rb", opener=open_regular) as file:
            return file.read()
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENXIO):
            return None
        raise


def list_entries(git: Git, path: str) -> Entries:
    """Return the keys and values of a configuration file in order; [] for an absent file."""
    if not os.path.exists(path):
        return []
    fields = git.run("config", "--file", path, "-z", "--list").text.split("\0")[:-1]
    pairs = (field.partition("\n") for field in fields)
    return [(key, value if newline else None) for key, newline, value in pairs]


def is_true(value: str | None) -> bool:
    """Return whether git reads a configuration value as true (git-config(1), boolean)."""
    return value is None or value.lower() in ("true", "yes", "on") or value.lstrip("0+-").isdigit()


@contextlib.contextmanager
def replaced(path: str) -> Iterator[str]:
    """Yield a copy of a configuration file to edit; on a clean exit it replaces the file.

    The copy is `<path>.lock`, git's own lock, and the change is visible completely or not at all.
    Raises Conflict if that lock exists already.
    """
    path = os.path.realpath(path)
    lock = f"{path}.lock"
    try:
        fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError as error:
        from gitworker.repo.plumbing.rules_git_errors import (
            explain_lock,  # regular expressions: 5 ms, rare
        )

        cause = explain_lock(lock)
        raise Conflict(cause.message, cause.hint, code=cause.code) from error
    try:
        with open(fd, "wb") as file:
            file.write(read_bytes(path) or b"")
        with contextlib.suppress(OSError):
            os.chmod(lock, os.stat(path).st_mode & 0o7777)
        yield lock
        os.rename(lock, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(lock)
        raise


def write_config(path: str, content: bytes | None) -> None:
    """Write `content` to a configuration file; None removes it."""
    if content is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    with replaced(path) as copy, open(copy, "wb", opener=open_regular) as file:
        file.write(content)


def keep_before(base: str, content: bytes | None) -> None:
    """Keep the content of a configuration file before gitworker changes it."""
    forget(base)
    if content is not None:
        _write(f"{base}-before", content)


def keep_after(base: str, content: bytes | None) -> None:
    """Keep the content of a configuration file after gitworker has changed it."""
    _write(f"{base}-after", content or b"")


def is_untouched(base: str, content: bytes | None) -> bool:
    """Return whether `content` is the one that gitworker's change left."""
    return content is not None and content == read_bytes(f"{base}-after")


def before(base: str) -> bytes | None:
    """Return the content before gitworker's change, None if the file was absent."""
    return read_bytes(f"{base}-before")


def forget(base: str) -> None:
    """Delete the files of `keep_before` and `keep_after`."""
    for suffix in ("before", "after"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{base}-{suffix}")


def _write(path: str, content: bytes) -> None:
    with open(path, "wb", opener=open_regular) as file:
        file.write(content)
