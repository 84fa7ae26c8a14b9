"""The bus and the transition log as JSON Lines files, for people, `tail -F` and `validate`.

An export continues from a recorded position and size and never counts lines. Bytes behind the
recorded size, left by a crash or another program, are cut off and written again, so that no line
is doubled or torn. A file that was deleted, shortened or replaced is rewritten from the start.
Lines that a foreign exporter recorded stay if the table no longer has all of them. A file of which
the database knows nothing is the log of a lost database: it is moved to `archive/`.

The files are never synced, while the recorded position may be on disk: after a power cut they may
have holes. A position that was recorded in another boot is therefore ignored: the first export
after a boot writes the lines again that the table holds.
"""

from __future__ import annotations

import os

from gitworker import clock
from gitworker.bus.files.json_line import log_line
from gitworker.bus.files.timed_lock import TimedLock
from gitworker.errors import Conflict
from gitworker.paths import ENXIO
from gitworker.store.messages.log_positions import (
    TRANSITIONS,
    LogPosition,
    count_after,
    exported_seq,
    find_log_position,
    first_seq,
    record_exported_seq,
    record_log_position,
    transition_lines,
)
from gitworker.store.messages.mailbox import messages_after

TYPE_CHECKING = False  # this module is on the hot path: `typing` costs 8 ms
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.api import Reader, Store
    from gitworker.store.messages.log_positions import LogLine

WAIT_MS = 2000  # an export takes milliseconds, except the first one of a large bus
BATCH = 500
BUS = "bus"
TAIL_BYTES = 16 * 1024  # searched for our last line, whose payload has at most 4 KiB


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
                "git worker msg export   # after that command has ended",
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
        require_export(store, paths)
    except Conflict:
        return False
    return True


def require_export(store: Store, paths: StatePaths) -> None:
    """Update both log files; raise Conflict if a stopped process holds the lock."""
    with ExportLock(paths):
        export_held(store, paths)


def export_held(store: Store, paths: StatePaths) -> None:
    """Update both log files; the caller holds the lock."""
    boot = clock.boot_id()
    for log, path in ((BUS, paths.bus_log), (TRANSITIONS, paths.transition_log)):
        Export(store, log, boot=boot).bring(path)


def read_lines(reader: Reader, log: str, after: int, *, limit: int = BATCH) -> list[LogLine]:
    """Return the lines of a log for the rows after a position."""
    if log == TRANSITIONS:
        return transition_lines(reader, after, limit=limit)
    messages = messages_after(reader, after, limit=limit)
    return [(message.seq, log_line(message).encode()) for message in messages]


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

    def bring(self, path: str) -> None:
        """Append the rows that the file does not have yet."""
        if os.path.lexists(path) and not os.path.isfile(path):  # a FIFO, a dangling link
            raise OSError(ENXIO, "not a regular file", path)
        recorded = self._recorded_position(path)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            after, size = self._begin(file, recorded)
            while True:
                with self._store.read() as reader:
                    lines = read_lines(reader, self._log, after)
                if not lines:
                    return
                text = _joined(lines)
                _write_all(file, text)
                after, size = lines[-1][0], size + len(text)
                self.record(after, size)
        finally:
            os.close(file)

    def record(self, after: int, size: int) -> None:
        """Record how far the file is written."""
        with self._store.write_own(durable=False) as writer:
            record_log_position(writer, self._log, LogPosition(after, size, self._boot))
            if self._log == BUS:
                record_exported_seq(writer, after)

    def _recorded_position(self, path: str) -> LogPosition:
        """Return the recorded position, or the first one of a new log.

        A file without a position that no foreign exporter has written is moved to the archive.
        """
        with self._store.read() as reader:
            recorded = find_log_position(reader, self._log)
            is_foreign = recorded is None and self._log == BUS and exported_seq(reader) > 0
        if recorded is not None:
            return recorded
        if not is_foreign:
            if os.path.exists(path) and os.path.getsize(path):
                archive = f"{os.path.dirname(path)}/archive"
                os.makedirs(archive, mode=0o700, exist_ok=True)
                os.rename(path, f"{archive}/{self._log}-lost-{clock.now_ms()}.jsonl")
            self.record(0, 0)  # before the first line, for an export that is killed
        return LogPosition(0, 0, self._boot)

    def _begin(self, file: int, recorded: LogPosition) -> tuple[int, int]:
        """Return the position to continue from; cut the file there and seek to it."""
        actual_size = os.fstat(file).st_size
        known = (recorded.last_seq, recorded.size_bytes)
        is_of_this_boot = recorded.boot_id == self._boot
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
            first = first_seq(reader)
            until = exported_seq(reader) if first is None else first - 1
        return _adopt(file, (0, 0), until)


def _copy(store: Store, file: int, position: tuple[int, int], until: int) -> tuple[int, int]:
    """Write the lines of messages up to `until` behind a position; return the new position."""
    after, size = position
    while True:
        with store.read() as reader:
            lines = [line for line in read_lines(reader, BUS, after) if line[0] <= until]
        if not lines:
            return after, size
        text = _joined(lines)
        _write_all(file, text)
        after, size = lines[-1][0], size + len(text)


def _joined(lines: list[LogLine]) -> bytes:
    found = [line + b"\n" for _, line in lines if line is not None]
    return b"".join(found).decode("utf-8", "replace").encode()


def _recorded(reader: Reader, log: str) -> tuple[int, int]:
    found = find_log_position(reader, log)
    return (found.last_seq, found.size_bytes) if found else (0, 0)


def _position(reader: Reader, log: str, known: tuple[int, int], file: int) -> tuple[int, int]:
    """Return the sequence and the size to continue from, judged by the file's content."""
    after, size = known
    actual_size = os.fstat(file).st_size
    if actual_size < size or not _ends_with(file, log, known):
        return 0, 0
    if log == BUS and actual_size > size:
        until = exported_seq(reader)
        if until > after and _holds_more(reader, file, known, until):
            return _adopt(file, known, until)
    return after, size


def _holds_more(reader: Reader, file: int, known: tuple[int, int], until: int) -> bool:
    """Return whether a foreign exporter wrote more lines than the table has messages.

    Then messages were deleted since, or it wrote these lines before our first export.
    """
    after, size = known
    lines = 0
    while chunk := os.pread(file, TAIL_BYTES, size):
        lines, size = lines + chunk.count(b"\n"), size + len(chunk)
    return after == 0 or lines > count_after(reader, after, until=until)


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
            except (ValueError, TypeError, KeyError, RecursionError):
                break
            if not after < seq <= until or not line.endswith(b"\n"):
                break
            after, size = seq, size + len(line)
    return after, size


def _write_all(file: int, text: bytes) -> None:
    view = memoryview(text)
    while view:
        view = view[os.write(file, view) :]
