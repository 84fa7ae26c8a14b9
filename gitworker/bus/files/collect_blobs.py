"""Delete large payloads that no message and no dead letter refers to.

A publisher saves the blob first and inserts its message afterwards. So a blob is deleted only
inside a write transaction that has seen every message, and our publishers check after the insert
that the blob still exists. A foreign publisher does not check, so young blobs are kept.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from gitworker.bus.blobs import PREFIX, is_blob_ref
from gitworker.bus.files.rules_retention import DAY_MS
from gitworker.store.api import Store
from gitworker.store.messages.mailbox import newest_seq
from gitworker.store.messages.retention import blob_refs, end_of_stretch

GRACE_MS = DAY_MS
CHUNK = 100
STRETCH = 20_000  # messages per read transaction


class CollectedBlobs(NamedTuple):
    """The number of deleted blobs and of their bytes."""

    blobs: int
    size_bytes: int


def collect_blobs(store: Store, directory: str, *, now_ms: int) -> CollectedBlobs:
    """Delete unreferenced blobs and the partial files of killed publishers."""
    old = list(_old_files(directory, now_ms - GRACE_MS))
    for name, _ in old:
        if not is_blob_ref(name):
            _unlink(f"{directory}/{name}")
    blobs = [(name, size) for name, size in old if is_blob_ref(name)]
    if not blobs:
        return CollectedBlobs(0, 0)
    with store.read() as reader:
        newest = newest_seq(reader)
    used = _used(store, newest)
    unused = [(name, size) for name, size in blobs if name not in used]
    number = size_bytes = 0
    for start in range(0, len(unused), CHUNK):
        with store.write(durable=False) as writer:
            fresh = blob_refs(writer, newest, until=newest_seq(writer))
            for name, size in unused[start : start + CHUNK]:
                if name not in fresh and _unlink(f"{directory}/{name}"):
                    number, size_bytes = number + 1, size_bytes + size
    return CollectedBlobs(number, size_bytes)


def _old_files(directory: str, before_ms: int) -> Iterator[tuple[str, int]]:
    """Yield blobs and partial files that were written before a time, with their sizes."""
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if is_blob_ref(entry.name) or entry.name.startswith(f".{PREFIX}"):
                    stat = entry.stat(follow_symlinks=False)
                    if stat.st_mtime_ns // 1_000_000 < before_ms:
                        yield entry.name, stat.st_size
    except FileNotFoundError:
        return


def _used(store: Store, newest: int) -> set[str]:
    """Return every referenced blob, by many short reads that do not delay checkpoints."""
    used: set[str] = set()
    after: int | None = 0
    while after is not None:  # by rows: another program may leave any gap between two positions
        with store.read() as reader:
            until = end_of_stretch(reader, after, until=newest, limit=STRETCH)
            used |= blob_refs(reader, after, until=newest if until is None else until)
        after = until
    return used


def _unlink(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True
