"""Large payloads: one file each, named by its content (seed 2). On the hot path.

Written temp, fsync, rename, so that nobody ever reads half of one.
"""

from __future__ import annotations

import os

from gitworker.errors import Unavailable
from gitworker.paths import regular

PREFIX = "sha256-"
HEX = frozenset("0123456789abcdef")


def save_blob(directory: str, content: bytes) -> str:
    """Keep content under its name, on disk on return; return the name.

    Raises Unavailable where it cannot be written.
    """
    from hashlib import sha256  # 3 ms, only for payloads that are large

    ref = PREFIX + sha256(content).hexdigest()
    path = f"{directory}/{ref}"
    if is_kept(path, len(content)):
        return ref
    # Threads and processes that save the same content at once write files of their own.
    partial = f"{directory}/.{ref}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        _write(partial, content)
        os.replace(partial, path)
        _sync_directory(directory)
    except OSError as error:
        raise Unavailable(
            f"cannot store the payload in {directory}: {error.strerror}", "df -h"
        ) from error
    return ref


def is_kept(path: str, size: int) -> bool:
    """Tell whether a blob is there with all its bytes; a torn one is to be written again."""
    try:
        return os.stat(path).st_size == size
    except OSError:
        return False


def find_blob(directory: str, ref: str) -> str | None:
    """Return the text of a blob; None where it is missing, or the name is none of ours."""
    if not is_blob_ref(ref):
        return None
    try:
        path = f"{directory}/{ref}"
        with open(path, encoding="utf-8", errors="replace", opener=regular) as file:
            return file.read()
    except OSError:
        return None


def blob_bytes(directory: str, ref: str) -> int:
    """Return the size of a blob; 0 where it is missing."""
    try:
        return os.stat(f"{directory}/{ref}").st_size if is_blob_ref(ref) else 0
    except OSError:
        return 0


def is_blob_ref(ref: str) -> bool:
    """Tell whether a name is that of a blob, and so cannot lead elsewhere."""
    digest = ref.removeprefix(PREFIX)
    return ref.startswith(PREFIX) and len(digest) == 64 and HEX.issuperset(digest)


def _write(path: str, content: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_directory(directory: str) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
