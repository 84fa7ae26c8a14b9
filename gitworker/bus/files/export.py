"""The bus and the transition log as JSON Lines files, for people, `tail -F` and `validate`.

Written from a recorded position and size, never by counting lines (seed 2, export tracking): what
stands behind the recorded size, a crash's or another program's, is cut off and written again, so
that no line stands twice or torn. A file that somebody removed, shortened or replaced is written
anew from the start. Lines of a program after seed 2 stay where the table no longer has them all.

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

WAIT_MS = 2000  # whoever exports is done in milliseconds, but for a first export of very many
FIRST_PAUSE_S = 0.0005
LAST_PAUSE_S = 0.02
BATCH = 500
BUS = "bus"
TRANSITIONS = "transitions"
TAIL_BYTES = 16 * 1024  # the last line of ours is looked for in so much: a payload has 4 KiB
BUS_LINES = "exports.bus_lines"


class Turn:
    """Waits for a lock file; `with Turn(path) as taken` tells whether it was had in time.

    For files that are only views of the database: a holder that is stopped (^Z) must not stop
    everybody who wants to tell something. The lock dies with its holder.
    """

    __slots__ = ("_fd", "_path", "_wait_ms")

    def __init__(self, path: str, *, wait_ms: int) -> None:
        self._path = path
        self._wait_ms = wait_ms
        self._fd = -1

    def __enter__(self) -> bool:
        """Wait for the lock and take it; give up after the bound."""
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
        """Let the lock go."""
        os.close(self._fd)


class ExportLock:
    """The lock of whoever writes the log files; it dies with its holder."""

    __slots__ = ("_path", "_turn")

    def __init__(self, paths: StatePaths) -> None:
        self._path = f"{paths.root}/export.lock"
        self._turn = Turn(self._path, wait_ms=WAIT_MS)

    def __enter__(self) -> None:
        """Wait for the lock and take it; raise Conflict where it stays taken (a stopped holder)."""
        if not self._turn.__enter__():
            self._turn.__exit__()
            raise Conflict(
                f"another command has held {self._path} for {WAIT_MS // 1000} s",
                "git worker msg export   (after that command has ended)",
                code="locked",
            )

    def __exit__(self, *_: object) -> None:
        """Let the lock go."""
        self._turn.__exit__()


def export_logs(store: Store, paths: StatePaths) -> bool:
    """Bring both log files up to date with the database.

    False: somebody who is stopped holds the lock, and whoever comes next writes what is missing.
    No act waits for that.
    """
    try:
        with ExportLock(paths):
            export_held(store, paths)
    except Conflict:
        return False
    return True


def export_held(store: Store, paths: StatePaths) -> None:
    """Bring both log files up to date; the caller holds the lock."""
    boot = clock.boot_id()
    for log, path, query in (
        (BUS, paths.bus_log, BUS_LINES),
        (TRANSITIONS, paths.transition_log, "exports.transition_lines"),
    ):
        Export(store, log, boot=boot).bring(path, query)


def trim_bus_log(store: Store, paths: StatePaths) -> None:
    """Write bus.jsonl anew with the messages that the table still holds, and replace it.

    Killed at any point, the next export finds the old file with its position, or a file that is
    shorter than recorded, which it writes from the start.
    """
    from gitworker.crashpoint import crash_point  # this module is on the hot path

    partial = f"{paths.bus_log}.trim"
    file = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with store.read() as reader:
            until = _recorded(reader, BUS)[0]
        after, size = _copy(store, file, (0, 0), until)  # outside the lock: publishers go on
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
    """One log file's way from the tables to the disk; whoever uses it holds the lock."""

    __slots__ = ("_boot", "_log", "_store")

    def __init__(self, store: Store, log: str, *, boot: str) -> None:
        self._store = store
        self._log = log
        self._boot = boot

    def bring(self, path: str, query: str) -> None:
        """Write what the tables hold and the file does not."""
        if os.path.lexists(path) and not os.path.isfile(path):  # a FIFO, a link to nothing
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
        """Return the position to go on from, the file cut there and set to it."""
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
        if (after, size) != known or not is_of_this_boot:  # before anything is cut
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
    """Return the sequence and the size to go on from, given what stands in the file."""
    after, size = known
    actual_size = os.fstat(file).st_size
    if actual_size < size or not _ends_with(file, log, known):
        return 0, 0
    if log == BUS and actual_size > size:
        seed2 = reader.row("exports.bus_seq")
        until = seed2["last_seq"] if seed2 else 0
        if until > after and _holds_more(reader, file, known, until):
            return _adopt(file, known, until)
    return after, size


def _holds_more(reader: Reader, file: int, known: tuple[int, int], until: int) -> bool:
    """Tell whether a program after seed 2 wrote more lines than the table has messages for them.

    Then it has deleted messages since, or wrote all of this before we ever did.
    """
    after, size = known
    row = reader.row("exports.count_between", after=after, until=until)
    lines = 0
    while chunk := os.pread(file, TAIL_BYTES, size):
        lines, size = lines + chunk.count(b"\n"), size + len(chunk)
    return row is None or after == 0 or lines > row["number"]


def _ends_with(file: int, log: str, known: tuple[int, int]) -> bool:
    """Tell whether the recorded size is where the recorded line ends: else the file is another."""
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
    """Return where to go on behind lines of a program after seed 2, which recorded `until`.

    Lines behind that one, twice or torn, were never recorded and are written again.
    """
    import json  # 8 ms, only beside such a program

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
