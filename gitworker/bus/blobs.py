"""Large payloads: one file each, named by the SHA-256 of its content. On the hot path.

Each is written to a temporary file, synced and renamed, so that no reader sees a partial one.
"""

from __future__ import annotations

import os

from gitworker.errors import Unavailable
from gitworker.paths import open_regular

INLINE_MAX_BYTES = 4096  # a larger payload is a blob, by the bus protocol
PREFIX = "sha256-"
HEX = frozenset("0123456789abcdef")


def save_blob(directory: str, content: bytes) -> str:
    """Store content, on disk on return, and return its name.

    Raises Unavailable if it cannot be written.
    """
    from hashlib import sha256  # 3 ms, only for payloads that are large

    ref = PREFIX + sha256(content).hexdigest()
    path = f"{directory}/{ref}"
    if is_kept(path, len(content)):
        return ref
    # Threads and processes that save the same content at once write separate files.
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
    """Return whether a blob exists in its full size; an incomplete one must be written again."""
    try:
        return os.stat(path).st_size == size
    except OSError:
        return False


def find_blob(directory: str, ref: str) -> str | None:
    """Return the text of a blob; None if it is missing or the name is not a blob's."""
    if not is_blob_ref(ref):
        return None
    try:
        path = f"{directory}/{ref}"
        with open(path, encoding="utf-8", errors="replace", opener=open_regular) as file:
            return file.read()
    except OSError:
        return None


def blob_bytes(directory: str, ref: str) -> int:
    """Return the size of a blob; 0 if it is missing."""
    try:
        return os.stat(f"{directory}/{ref}").st_size if is_blob_ref(ref) else 0
    except OSError:
        return 0


def is_blob_ref(ref: str) -> bool:
    """Return whether a name has the form of a blob's, so that it cannot name another path."""
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
