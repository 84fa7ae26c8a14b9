"""The bus and the transition log as JSON Lines files, for people, `tail -f` and `validate`.

Written from a recorded position and size, never by counting lines (seed 2, export tracking): what
a crash left behind the recorded size is cut off and written again, so that no line stands twice
or torn. A file that somebody removed or shortened is written anew from the start.
"""

from __future__ import annotations

import fcntl
import os

TYPE_CHECKING = False  # this module is on the hot path: `typing` costs 8 ms
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.api import Reader, Store

BATCH = 500
BUS = "bus"
TRANSITIONS = "transitions"


def export_logs(store: Store, paths: StatePaths) -> None:
    """Bring both log files up to date with the database."""
    fd = os.open(f"{paths.root}/export.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        _export(store, BUS, paths.bus_log, "exports.bus_lines")
        _export(store, TRANSITIONS, paths.transition_log, "exports.transition_lines")
    finally:
        os.close(fd)


def _export(store: Store, log: str, path: str, query: str) -> None:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        actual_size = os.fstat(file).st_size
        with store.read() as reader:
            known = _recorded(reader, log)
            after, size = _position(reader, log, known, actual_size)
        if (after, size) > known:  # else a later crash of the foreign exporter leaves its tail
            _record(store, log, after, size)
        if actual_size != size:
            os.ftruncate(file, size)
        os.lseek(file, size, os.SEEK_SET)
        while True:
            with store.read() as reader:
                rows = reader.rows(query, after=after, limit=BATCH)
            if not rows:
                return
            lines = [row["line"] + b"\n" for row in rows if row["line"] is not None]
            text = b"".join(lines).decode("utf-8", "replace").encode()
            _write_all(file, text)
            after, size = rows[-1]["seq"], size + len(text)
            _record(store, log, after, size)
    finally:
        os.close(file)


def _recorded(reader: Reader, log: str) -> tuple[int, int]:
    row = reader.row("exports.position", log=log)
    return (row["last_seq"], row["size_bytes"]) if row else (0, 0)


def _position(
    reader: Reader, log: str, known: tuple[int, int], actual_size: int
) -> tuple[int, int]:
    """Return the sequence and the size to go on from, given how large the file is."""
    after, size = known
    if actual_size < size or actual_size == 0:
        return 0, 0
    if log == BUS:
        seed2 = reader.row("exports.bus_seq")
        if seed2 and seed2["last_seq"] > after:  # a program after seed 2 exported by itself
            return seed2["last_seq"], actual_size
    return after, size


def _record(store: Store, log: str, after: int, size: int) -> None:
    with store.write(durable=False) as writer:
        writer.run("exports.set_position", log=log, last_seq=after, size_bytes=size)
        if log == BUS:
            writer.run("exports.set_bus_seq", last_seq=after)


def _write_all(file: int, text: bytes) -> None:
    view = memoryview(text)
    while view:
        view = view[os.write(file, view) :]
