"""bus.db: one connection per thread, one gate for writers, durable commits outside the gate.

Commits and checkpoints happen under an flock on a file beside the database. It keeps bursts of
writers fair and prevents the WAL-reset race of old SQLite versions (docs/design.md, "Facts about
SQLite"). A durable commit is a commit at synchronous=NORMAL, followed by fdatasync of the `-wal`
after the gate is released.
"""

from __future__ import annotations

import os

import apsw

from gitworker import clock
from gitworker.errors import (
    NEEDS_LINK,
    REPLACED,
    Conflict,
    GitWorkerError,
    Internal,
    Invalid,
    Unavailable,
)
from gitworker.paths import StatePaths, file_identity, read_only_error
from gitworker.store.sqlite.queries import query_text
from gitworker.store.sqlite.write_gate import WriteGate

TYPE_CHECKING = False  # `typing` and `contextlib` cost a hot verb 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.store.api import Row, Value, Waker

BUSY_TIMEOUT_MS = 5000
SWITCH_RETRY_S = 0.01
JOURNAL_SIZE_LIMIT = 4 * 1024 * 1024
CHECKPOINT_BYTES = 4_000_000  # below the limit, so that the `-wal` keeps its size
# A message writes five pages to the `-wal`. Small pages make publishing 1.5 times as fast, and a
# poll among five million messages costs the same (benchmarks/RESULTS-BUS.md).
PAGE_SIZE = 1024
# A trigger on `transitions` calls this function, so that no other program can insert there.
WRITER_FUNCTION = "only_gitworker_inserts_transitions"
# Our triggers raise this, then the reason.
REFUSED_MARK = "gitworker: "
CONFLICT = "conflict"
# Triggers of a fleet's replica raise this for a connection that does not write by way of the link.
FLEET = "fleet"
FLEET_FUNCTION = "gitworker_writes_to_the_fleet"


class Database:
    """A connection to bus.db that runs named queries.

    If the state directory cannot be written, it answers reads and refuses every write. Raises
    Unavailable if the file cannot be opened, is not a database, or is damaged.
    """

    def __init__(self, path: str, *, create: bool = False) -> None:
        self._wal = -1
        self.fleet_machine: str | None = None  # the id of this machine in a fleet
        self._known_schema = 0  # SQLite's number of the tables whose version was checked
        self._check_schema: Callable[[apsw.Connection, str], None] | None = None
        self._may_write_to_the_fleet = [0]  # of the connection's function, which keeps no `self`
        self.path = path
        self._gate = WriteGate(f"{path}-gate", keep=True)
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
        self.is_read_only = False
        try:
            self.connection = apsw.Connection(path, flags=flags)
            self.connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            if create:  # has an effect only before the first page is written
                self.connection.execute(
                    f"PRAGMA page_size = {PAGE_SIZE}; PRAGMA auto_vacuum = INCREMENTAL"
                )
            self._configure()
            self.is_read_only = self.connection.readonly("main")
        except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
            if create or os.access(os.path.dirname(path), os.W_OK) or not os.access(path, os.R_OK):
                raise translated(error, path) from error
            self._open_copy()
        except apsw.Error as error:
            raise translated(error, path) from error
        self._columns: dict[str, tuple[str, ...]] = {}
        self._identity = file_identity(path)

    @property
    def defers_messages(self) -> bool:
        """Whether messages are left to the link of a fleet: for a verb that never waits."""
        return self.fleet_machine is not None and not self.writes_to_the_fleet

    @property
    def writes_to_the_fleet(self) -> bool:
        """Whether the guards of a replica let this connection change what all machines share."""
        return bool(self._may_write_to_the_fleet[0])

    @writes_to_the_fleet.setter
    def writes_to_the_fleet(self, may_write: bool) -> None:
        self._may_write_to_the_fleet[0] = int(may_write)

    def wait_at_most(self, ms: int) -> None:
        """Let each write wait so long for other writers."""
        self.connection.set_busy_timeout(ms)
        self._gate.timeout_ms = ms

    def _open_copy(self) -> None:
        """Open a copy, since SQLite needs a `-shm` to read the `-wal` and cannot create it here."""
        from gitworker.store.sqlite.snapshot import open_snapshot  # 10 ms, on a read-only disk only

        try:
            self.connection = open_snapshot(self.path)
            self._configure()
        except apsw.Error as error:
            raise translated(error, self.path) from error
        self.is_read_only = True

    def _configure(self) -> None:
        connection = self.connection
        connection.create_scalar_function(
            WRITER_FUNCTION, lambda *_: 1, 0, flags=apsw.SQLITE_INNOCUOUS
        )
        may_write = self._may_write_to_the_fleet
        connection.create_scalar_function(
            FLEET_FUNCTION, lambda *_: may_write[0], 0, flags=apsw.SQLITE_INNOCUOUS
        )
        # The last connection must not checkpoint outside the gate when it closes (1.2 ms, too).
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute(
            "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;"
            f"PRAGMA journal_size_limit = {JOURNAL_SIZE_LIMIT}"
        )
        if self._enter_wal() != "wal":
            raise Unavailable(
                f"SQLite's WAL mode does not work on the file system of {self.path}",
                "move the repository to a local disk",
            )
        connection.wal_autocheckpoint(CHECKPOINT_BYTES // connection.pragma("page_size"))

    def _enter_wal(self) -> object:
        """Ask for WAL mode; return the journal mode.

        While another connection writes to a file that is not in WAL mode yet, SQLite refuses the
        switch at once, whatever the busy timeout.
        """
        last_ms = clock.monotonic_ms() + BUSY_TIMEOUT_MS
        while True:
            try:
                return self.connection.pragma("journal_mode", "wal")
            except apsw.BusyError:
                if clock.monotonic_ms() >= last_ms:
                    raise
                clock.sleep(SWITCH_RETRY_S)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()
        self._gate.close()
        self._close_wal()

    def __del__(self) -> None:
        """Close the `-wal`, since a long-lived process opens one database after another."""
        self._close_wal()

    def _close_wal(self) -> None:
        if self._wal >= 0:
            os.close(self._wal)
            self._wal = -1

    def row(self, query: str, **values: Value) -> Row | None:
        """Return the first row of a named query, or None."""
        rows = self.rows(query, **values)
        return rows[0] if rows else None

    def rows(self, query: str, **values: Value) -> list[Row]:
        """Return every row of a named query as a mapping of column names."""
        return self.execute(query_text(query), values)

    def run(self, query: str, **values: Value) -> int:
        """Execute a named statement and return how many rows it changed."""
        before = self.connection.total_changes()
        self.execute(query_text(query), values)
        return self.connection.total_changes() - before

    def write_one(self, query: str, *, durable: bool = True, **values: Value) -> int:
        """Execute one named statement as a transaction of its own; return how many rows changed.

        It has the guarantees of `write` at a lower cost, since SQLite commits by itself.
        """
        self.require_writable()
        with self._gate:
            self.require_known_schema()
            try:
                self.connection.execute(query_text(query), values)
            except UnicodeEncodeError as error:
                raise _bad_text(error) from None
            except apsw.Error as error:
                raise translated(error, self.path) from error
            changed = self.connection.changes()
        if durable:  # also if nothing changed: its writer may have died before the sync
            self.sync()
        return changed

    def execute(self, sql: str, values: dict[str, Value] | None = None) -> list[Row]:
        """Execute SQL text of this backend and return its rows."""
        try:
            cursor = self.connection.execute(sql, values or {})
            columns = self._columns.get(sql)
            found: list[Row] = []
            try:
                for row in cursor:
                    if columns is None:
                        columns = tuple(item[0] for item in cursor.get_description())
                        self._columns[sql] = columns
                    found.append(dict(zip(columns, row, strict=True)))
            except UnicodeDecodeError:
                names = tuple(item[0] for item in cursor.get_description())
                return self._rows_of_bad_text(sql, values or {}, names)
        except UnicodeEncodeError as error:
            raise _bad_text(error) from None
        except apsw.Error as error:
            raise translated(error, self.path) from error
        return found

    def _rows_of_bad_text(
        self, sql: str, values: dict[str, Value], columns: tuple[str, ...]
    ) -> list[Row]:
        """Read rows with invalid UTF-8, which a foreign program can store, with replacements.

        One such message must not block every reader.
        """
        shown = ", ".join(
            f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END,"
            f" typeof({name}) = 'text'"
            for name in columns
        )
        text = f"SELECT {shown} FROM ({sql.rstrip().rstrip(';')})"
        rows = self.connection.execute(text, values).fetchall()
        return [
            {
                name: value.decode("utf-8", "replace")
                if is_text and isinstance(value, bytes)
                else value
                for name, value, is_text in zip(columns, row[::2], row[1::2], strict=True)
            }
            for row in rows
        ]

    def read(self) -> ReadTransaction:
        """Give one consistent snapshot."""
        return ReadTransaction(self)

    def write(self, *, durable: bool = True) -> WriteTransaction:
        """Give one write transaction, committed on a clean exit and rolled back otherwise.

        If `durable`, it is on disk when it ends.
        """
        return WriteTransaction(self, durable)

    def write_own(self, *, durable: bool = True) -> WriteTransaction:
        """Give a write transaction for what this machine of a fleet has for itself."""
        return WriteTransaction(self, durable)

    def backup(self, target: str) -> None:
        """Write a consistent copy to another file, which appears complete."""
        from gitworker.store.sqlite.snapshot import copy_database  # only before a migration

        try:
            copy_database(self.path, target)
        except apsw.Error as error:
            raise translated(error, target) from error

    def change_mark(self) -> int:
        """Return a number that changes when another connection has committed."""
        try:
            return int(self.connection.pragma("data_version"))
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def open_waker(self, *, on_spool: Callable[[], object] | None = None) -> Waker:
        """Return a waker for this store; `on_spool` is called when a hook wrote to the spool."""
        from gitworker.store.sqlite.waking import open_waker  # ctypes: 7 ms, only to wait

        return open_waker(self, StatePaths(os.path.dirname(self.path)), on_spool=on_spool)

    def gate(self) -> WriteGate:
        """Return the writers' gate: an flock on the file beside the database."""
        self.require_writable()
        return self._gate

    def wait_for_the_fleet(self) -> None:
        """Let writes wait for the fleet: nothing to do here."""

    def require_writable(self) -> None:
        """Raise Unavailable if the state directory cannot be written, or bus.db was replaced."""
        if self.is_read_only:
            raise read_only_error(self.path)
        self.require_present()

    def note_schema(self, check: Callable[[apsw.Connection, str], None]) -> None:
        """Note the tables as they are; the caller reads their version afterwards.

        `check` raises Unavailable for tables of a newer version, if they change later.
        """
        self._known_schema = self._schema()
        self._check_schema = check

    def require_known_schema(self) -> None:
        """Raise Unavailable if a newer program has migrated the file since it was checked."""
        if self._check_schema is None:
            return
        schema = self._schema()
        if schema != self._known_schema:
            self._check_schema(self.connection, self.path)
            self._known_schema = schema

    def _schema(self) -> int:
        try:
            return int(self.connection.pragma("schema_version"))
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def require_present(self) -> None:
        """Raise Unavailable if bus.db was deleted or replaced since it was opened.

        If its directory is gone as well, it was moved: the file takes what is written.
        """
        found = file_identity(self.path)
        is_moved = found is None and not os.path.isdir(os.path.dirname(self.path))
        if found != self._identity and not is_moved:
            raise Unavailable(
                f"{self.path} was deleted or replaced while this process had it open",
                "run the command again",
                code=REPLACED,
            )

    def sync(self) -> None:
        """Sync the commits to disk: fdatasync of the write-ahead log.

        The file stays open; no program can replace it while our connection is open.
        """
        if self._wal < 0:
            try:
                self._wal = os.open(f"{self.path}-wal", os.O_RDWR)
            except FileNotFoundError:  # checkpointed, so the commits are synced in the database
                return
            except OSError as error:
                raise _unsynced(self.path, error) from error
        try:
            os.fdatasync(self._wal)
        except OSError as error:
            raise _unsynced(self.path, error) from error


class ReadTransaction:
    """A deferred transaction that is always rolled back, so it must not write."""

    __slots__ = ("database",)

    def __init__(self, database: Database) -> None:
        self.database = database

    def __enter__(self) -> Database:
        """Begin the transaction."""
        self.database.execute("BEGIN")
        return self.database

    def __exit__(self, *_: object) -> None:
        """Roll back."""
        self.database.execute("ROLLBACK")


class WriteTransaction:
    """A BEGIN IMMEDIATE under the gate: committed on a clean exit, else rolled back."""

    __slots__ = ("_durable", "_gate", "database")

    def __init__(self, database: Database, durable: bool) -> None:
        self.database = database
        self._durable = durable
        self._gate = database.gate()

    def __enter__(self) -> Database:
        """Take the gate and begin the transaction."""
        self._gate.__enter__()
        try:
            self.database.require_known_schema()
            self.database.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._gate.__exit__()
            raise
        return self.database

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Commit or roll back, release the gate, then sync outside the gate."""
        database = self.database
        try:
            if kind is None:
                database.execute("COMMIT")
        finally:
            try:
                if database.connection.in_transaction:
                    database.execute("ROLLBACK")
            finally:
                self._gate.__exit__()
        if kind is None and self._durable:
            database.sync()


def _unsynced(path: str, error: OSError) -> Unavailable:
    return Unavailable(
        f"the last write to {path} may not be on disk: {error.strerror}", "df -h", code="disk"
    )


def _bad_text(error: UnicodeEncodeError) -> Invalid:
    """Return the refusal of a name or path of the caller that is not UTF-8."""
    return Invalid(f"{ascii(error.object)[:80]} is not valid UTF-8")


def translated(error: apsw.Error, path: str) -> GitWorkerError:
    """Return our error for an error of SQLite, with a hint."""
    text = str(error)
    is_of_trigger = getattr(error, "extendedresult", 0) == apsw.SQLITE_CONSTRAINT_TRIGGER
    refusal = text.partition(REFUSED_MARK)[2] if is_of_trigger else ""
    if refusal == CONFLICT:
        return Conflict("another command changed this at the same time", "run the command again")
    if refusal == FLEET:
        return Conflict(
            "the repository has joined a fleet meanwhile", "run the command again", code=NEEDS_LINK
        )
    if refusal:
        return Conflict(refusal)
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return Unavailable(
            f"{path} is damaged: {text}; the file was not changed",
            "git worker doctor",
            code="database_damaged",
        )
    if isinstance(error, apsw.BusyError | apsw.ProtocolError):  # the second: the -shm stayed locked
        return Conflict("the database is busy", "run the command again", code="busy")
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return Unavailable(f"cannot write {path}: {text}", "git worker doctor", code="read_only")
    if isinstance(error, apsw.FullError | apsw.IOError):
        return Unavailable(f"cannot write {path}: {text}", "df -h", code="disk")
    return Internal(f"SQLite: {text}")
