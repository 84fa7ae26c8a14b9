"""The bus and the transition log as JSON Lines files, for people, `tail -F` and `validate`.

An export continues from a recorded position and size and never counts lines. Bytes behind the
recorded size, left by a crash or another program, are cut off and written again, so that no line
is doubled or torn. A file that was deleted, shortened or replaced is rewritten from the start.
Lines that a foreign exporter recorded stay if the table no longer has all of them.

The files are never synced, while the recorded position may be on disk: after a power cut they may
have holes. A position that was recorded in another boot is therefore ignored: the first export
after a boot writes the lines again that the table holds.
"""

from __future__ import annotations

import fcntl
import os

from gitworker import clock
from gitworker.clock import monotonic_ms, sleep
from gitworker.errors import Conflict
from gitworker.paths import ENXIO

TYPE_CHECKING = False  # this module is on the hot path: `typing` costs 8 ms
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.api import Reader, Row, Store

WAIT_MS = 2000  # an export takes milliseconds, except the first one of a large bus
FIRST_PAUSE_S = 0.0005
LAST_PAUSE_S = 0.02
BATCH = 500
BUS = "bus"
TRANSITIONS = "transitions"
TAIL_BYTES = 16 * 1024  # searched for our last line, whose payload has at most 4 KiB
BUS_LINES = "exports.bus_lines"


class TimedLock:
    """A lock file with a bounded wait; `with Turn(path) as taken` gives whether it was taken.

    For files that are only views of the database: a stopped holder (^Z) must not block every
    publisher. The lock ends with its holder.
    """

    __slots__ = ("_fd", "_path", "_wait_ms")

    def __init__(self, path: str, *, wait_ms: int) -> None:
        self._path = path
        self._wait_ms = wait_ms
        self._fd = -1

    def __enter__(self) -> bool:
        """Wait for the lock; return False if it stays taken for `wait_ms`."""
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = monotonic_ms() + self._wait_ms
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if monotonic_ms() >= deadline:
                    return False
            sleep(pause_s)
            pause_s = min(pause_s * 2, LAST_PAUSE_S)

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        os.close(self._fd)


class ExportLock:
    """The lock for writing the log files; it ends with its holder."""

    __slots__ = ("_path", "_turn")

    def __init__(self, paths: StatePaths) -> None:
        self._path = f"{paths.root}/export.lock"
        self._turn = TimedLock(self._path, wait_ms=WAIT_MS)

    def __enter__(self) -> None:
        """Wait for the lock; raise Conflict if it stays taken (by a stopped holder)."""
        if not self._turn.__enter__():
            self._turn.__exit__()
            raise Conflict(
                f"another command has held {self._path} for {WAIT_MS // 1000} s",
                "git worker msg export   (after that command has ended)",
                code="locked",
            )

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self._turn.__exit__()


def export_logs(store: Store, paths: StatePaths) -> bool:
    """Update both log files from the database.

    Returns False if a stopped process holds the lock; the next export then writes the missing
    lines. No operation waits for that.
    """
    try:
        with ExportLock(paths):
            export_held(store, paths)
    except Conflict:
        return False
    return True


def export_held(store: Store, paths: StatePaths) -> None:
    """Update both log files; the caller holds the lock."""
    boot = clock.boot_id()
    for log, path, query in (
        (BUS, paths.bus_log, BUS_LINES),
        (TRANSITIONS, paths.transition_log, "exports.transition_lines"),
    ):
        Export(store, log, boot=boot).bring(path, query)


def trim_bus_log(store: Store, paths: StatePaths) -> None:
    """Rewrite bus.jsonl with the messages that are still in the table.

    After a kill at any point the next export finds either the old file with its position, or a file
    that is shorter than recorded and is rewritten from the start.
    """
    from gitworker.crashpoint import crash_point  # this module is on the hot path

    partial = f"{paths.bus_log}.trim"
    file = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with store.read() as reader:
            until = _recorded(reader, BUS)[0]
        after, size = _copy(store, file, (0, 0), until)  # outside the lock: exports continue
        with ExportLock(paths):
            export_held(store, paths)
            with store.read() as reader:
                until, old_size = _recorded(reader, BUS)
            after, size = _copy(store, file, (after, size), until)
            os.fsync(file)
            if size < old_size:
                os.replace(partial, paths.bus_log)
                crash_point("trim.replaced")
                Export(store, BUS, boot=clock.boot_id()).record(until, size)
    finally:
        os.close(file)
        if os.path.exists(partial):
            os.unlink(partial)


class Export:
    """The export of one log file; the caller holds the lock."""

    __slots__ = ("_boot", "_log", "_store")

    def __init__(self, store: Store, log: str, *, boot: str) -> None:
        self._store = store
        self._log = log
        self._boot = boot

    def bring(self, path: str, query: str) -> None:
        """Append the rows that the file does not have yet."""
        if os.path.lexists(path) and not os.path.isfile(path):  # a FIFO, a dangling link
            raise OSError(ENXIO, "not a regular file", path)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            after, size = self._begin(file)
            while True:
                with self._store.read() as reader:
                    rows = reader.rows(query, after=after, limit=BATCH)
                if not rows:
                    return
                text = _lines(rows)
                _write_all(file, text)
                after, size = rows[-1]["seq"], size + len(text)
                self.record(after, size)
        finally:
            os.close(file)

    def record(self, after: int, size: int) -> None:
        """Record how far the file is written."""
        with self._store.write(durable=False) as writer:
            writer.run(
                "exports.set_position",
                log=self._log, last_seq=after, size_bytes=size, boot_id=self._boot,
            )  # fmt: skip
            if self._log == BUS:
                writer.run("exports.set_bus_seq", last_seq=after)

    def _begin(self, file: int) -> tuple[int, int]:
        """Return the position to continue from; cut the file there and seek to it."""
        actual_size = os.fstat(file).st_size
        with self._store.read() as reader:
            row = reader.row("exports.position", log=self._log)
        known = (row["last_seq"], row["size_bytes"]) if row else (0, 0)
        is_of_this_boot = row is None or row["boot_id"] == self._boot
        if is_of_this_boot:
            with self._store.read() as reader:
                after, size = _position(reader, self._log, known, file)
        else:
            after, size = self._oldest(file)
        if (after, size) != known or not is_of_this_boot:  # before the file is cut
            self.record(after, size)
        if actual_size != size:
            os.ftruncate(file, size)
        os.lseek(file, size, os.SEEK_SET)
        return after, size

    def _oldest(self, file: int) -> tuple[int, int]:
        """Return the position behind the lines that the table no longer holds."""
        if self._log != BUS:
            return 0, 0
        with self._store.read() as reader:
            row = reader.row("exports.first_seq")
            first = row["seq"] if row else None
            newest = reader.row("exports.bus_seq")
        until = newest["last_seq"] if first is None and newest else (first or 1) - 1
        return _adopt(file, (0, 0), until)


def _copy(store: Store, file: int, position: tuple[int, int], until: int) -> tuple[int, int]:
    """Write the lines of messages up to `until` behind a position; return the new position."""
    after, size = position
    while True:
        with store.read() as reader:
            rows = reader.rows(BUS_LINES, after=after, limit=BATCH)
        rows = [row for row in rows if row["seq"] <= until]
        if not rows:
            return after, size
        text = _lines(rows)
        _write_all(file, text)
        after, size = rows[-1]["seq"], size + len(text)


def _lines(rows: list[Row]) -> bytes:
    lines = [row["line"] + b"\n" for row in rows if row["line"] is not None]
    return b"".join(lines).decode("utf-8", "replace").encode()


def _recorded(reader: Reader, log: str) -> tuple[int, int]:
    row = reader.row("exports.position", log=log)
    return (row["last_seq"], row["size_bytes"]) if row else (0, 0)


def _position(reader: Reader, log: str, known: tuple[int, int], file: int) -> tuple[int, int]:
    """Return the sequence and the size to continue from, judged by the file's content."""
    after, size = known
    actual_size = os.fstat(file).st_size
    if actual_size < size or not _ends_with(file, log, known):
        return 0, 0
    if log == BUS and actual_size > size:
        foreign = reader.row("exports.bus_seq")
        until = foreign["last_seq"] if foreign else 0
        if until > after and _holds_more(reader, file, known, until):
            return _adopt(file, known, until)
    return after, size


def _holds_more(reader: Reader, file: int, known: tuple[int, int], until: int) -> bool:
    """Return whether a foreign exporter wrote more lines than the table has messages.

    Then messages were deleted since, or it wrote these lines before our first export.
    """
    after, size = known
    row = reader.row("exports.count_between", after=after, until=until)
    lines = 0
    while chunk := os.pread(file, TAIL_BYTES, size):
        lines, size = lines + chunk.count(b"\n"), size + len(chunk)
    return row is None or after == 0 or lines > row["number"]


def _ends_with(file: int, log: str, known: tuple[int, int]) -> bool:
    """Return whether the recorded line ends at the recorded size; if not, the file was replaced."""
    after, size = known
    if size == 0:
        return True
    tail = os.pread(file, min(size, TAIL_BYTES), max(0, size - TAIL_BYTES))
    if not tail.endswith(b"\n"):
        return False
    start = tail.rfind(b"\n", 0, len(tail) - 1) + 1
    if log != BUS or (start == 0 and len(tail) < size):
        return True
    return tail.startswith((b'{"seq":%d,' % after, b'{"seq": %d,' % after), start)


def _adopt(file: int, known: tuple[int, int], until: int) -> tuple[int, int]:
    """Return the position behind the lines of a foreign exporter, which recorded `until`.

    Later lines, doubled or torn, were never recorded and are written again.
    """
    import json  # 8 ms, only if there is a foreign exporter

    after, size = known
    with open(os.dup(file), "rb") as lines:
        lines.seek(size)
        for line in lines:
            try:
                seq = int(json.loads(line)["seq"])
            except (ValueError, TypeError, KeyError):
                break
            if not after < seq <= until or not line.endswith(b"\n"):
                break
            after, size = seq, size + len(line)
    return after, size


def _write_all(file: int, text: bytes) -> None:
    view = memoryview(text)
    while view:
        view = view[os.write(file, view) :]
