"""The fleet's database: its log, the shared tables, and the lock that lets one machine write.

Each write transaction first takes an advisory lock of its repository, so that the order of the log
is the order of commits: a machine that reads it by position misses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from gitworker.store.fleet.changes import DELETE, INSERT, from_json, to_json
from gitworker.store.fleet.replica import LogEntry, Snapshot
from gitworker.store.postgres.errors import grant_of, require_same_version, translated
from gitworker.store.postgres.location import Location, parse_location
from gitworker.store.postgres.migrations import MIGRATIONS
from gitworker.store.postgres.rules_dialect import WRITER_SETTING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitworker.store.fleet.changes import Cell, RowChange
    from gitworker.store.postgres.migrations import Migration

LOCK_WAIT_MS = 20_000
HOLD_MAX_MS = 75_000  # the server ends the transaction of a machine that has gone, with its lock
CONNECT_WAIT_S = 5
IDLE = psycopg.pq.TransactionStatus.IDLE
SILENCE_MS = 10_000  # a connection whose packets are not acknowledged for so long is lost
ALIVE_EVERY_S, ALIVE_TRIES = 5, 2  # the same for one that waits for an answer
# The size of an answer and of a statement stays bounded.
KEPT_S = 600  # a machine that was away for so long reads the log on
ENTRIES_AT_ONCE = 2_000
ROWS_AT_ONCE = 500
_ENTRIES = (
    "SELECT position, machine, shared, own FROM fleet_log WHERE position > %(after)s"
    " ORDER BY position LIMIT %(limit)s"
)
# The last entry stays, since its position counts on. A machine whose lease has ended takes all rows
# over again when it returns; what it wrote itself is kept until it has it.
_PRUNE = """
DELETE FROM fleet_log AS l WHERE written_at < clock_timestamp() - CAST(%(age)s AS interval)
    AND position < (SELECT MAX(position) FROM fleet_log)
    AND position <= (SELECT MIN(position) FROM machines WHERE left_at_ms IS NULL
        AND lease_until_ms > extract(epoch FROM clock_timestamp()) * 1000)
    AND position <= COALESCE((SELECT position FROM machines WHERE id = l.machine), l.position)"""
# A payload and its message are written together, under the lock.
_WITHOUT_MESSAGE = """
SELECT ref FROM payloads AS p
WHERE NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.payload_ref = p.ref)"""
_SERVER = "SELECT pg_backend_pid(), extract(epoch FROM pg_postmaster_start_time())::text"
_FORBIDDEN = """
SELECT relname FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace
WHERE relkind = 'r' AND nspname = %(schema)s AND NOT (has_schema_privilege(n.oid, 'USAGE')
    AND has_table_privilege(pg_class.oid, 'SELECT') AND has_table_privilege(pg_class.oid, 'INSERT')
    AND has_table_privilege(pg_class.oid, 'UPDATE') AND has_table_privilege(pg_class.oid, 'DELETE'))
ORDER BY relname"""
_HEAD = """
SELECT COALESCE(MAX(position), 0), (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    (SELECT value FROM meta WHERE key = 'gitworker_schema') FROM fleet_log"""


class Begun(NamedTuple):
    """The log after a position, the position of its last entry, the server's time."""

    entries: list[LogEntry]
    newest: int
    now_ms: int

    def has_gap(self, after: int) -> bool:
        """Return whether entries after the position were deleted; otherwise the log has no holes.

        Single ones that a machine may still need are kept, so the oldest entry tells nothing.
        """
        found = [one.position for one in self.entries]
        if not found:
            return self.newest > after
        return found != list(range(after + 1, after + 1 + len(found)))


class NewEntry(NamedTuple):
    """What a machine writes: the shared rows, its own rows as JSON, the payloads of messages."""

    machine: str
    shared: list[RowChange]
    own: str
    payloads: dict[str, bytes]


class FleetServer:
    """One connection to a fleet's schema; `started` names the start of its server.

    Raises Unavailable if the server does not answer or refuses the connection.
    """

    def __init__(
        self, text: str, *, name: str = "gitworker", lock_wait_ms: int = LOCK_WAIT_MS,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> None:  # fmt: skip
        self.migrations, self.version = migrations, migrations[-1].version
        self.location: Location = parse_location(text)
        try:
            self.connection = psycopg.connect(
                self.location.conninfo, autocommit=True, cursor_factory=psycopg.ClientCursor,
                application_name=name, connect_timeout=CONNECT_WAIT_S,
                tcp_user_timeout=SILENCE_MS, keepalives_idle=ALIVE_EVERY_S,
                keepalives_interval=ALIVE_EVERY_S, keepalives_count=ALIVE_TRIES,
            )  # fmt: skip
            self.is_notified = self._listen()
        except psycopg.Error as error:
            raise translated(error) from error
        self.role = self.connection.info.user
        self.grant = grant_of(self.location.schema, self.role)
        self._settings = (
            f"SET LOCAL search_path = {self.location.quoted_schema};"
            f" SET LOCAL lock_timeout = {lock_wait_ms};"
            f" SET LOCAL idle_in_transaction_session_timeout = {HOLD_MAX_MS}"
        )
        key = self.location.schema.replace("'", "''")
        self._lock = f"SELECT pg_advisory_xact_lock(hashtextextended('gitworker:{key}', 0))"
        self._notify = f"NOTIFY {self.location.quoted_schema}"

    def _listen(self) -> bool:
        """Ask for notifications; return whether they arrive.

        A pooler answers with a process of its own making, and may give each transaction another
        connection: notifications would reach another client.
        """
        (row,) = self.connection.execute(_SERVER).fetchall()
        self.started = str(row[1])
        if row[0] != self.connection.info.backend_pid:
            return False
        self.connection.execute(f"LISTEN {self.location.quoted_schema}".encode())
        return True

    def close(self) -> None:
        """Close the connection; what was begun is given up."""
        self.connection.close()

    def fileno(self) -> int:
        """Return the descriptor that is readable if the server has sent something."""
        return self.connection.fileno()

    def has_news(self) -> bool:
        """Return whether another connection may have written since this was asked; never block."""
        if not self.is_notified:
            return True
        try:
            heard = list(self.connection.notifies(timeout=0))
        except psycopg.Error as error:
            raise translated(error) from error
        own = self.connection.info.backend_pid
        return any(one.pid != own for one in heard)

    def begin(self, after: int) -> Begun:
        """Take the fleet's lock and return what was written after a position."""
        text = f"BEGIN; SET LOCAL {WRITER_SETTING} = 'on'; {self._lock}; {_HEAD}; {_ENTRIES}"
        return self._begun(text, after)

    def begin_alone(self) -> None:
        """Begin a transaction with the lock, also if the schema does not exist yet."""
        self._run(f"BEGIN; SET LOCAL {WRITER_SETTING} = 'on'; {self._lock}", {})

    def fetch(self, after: int) -> Begun:
        """Return what was written after a position; takes no lock."""
        return self._begun(f"{_HEAD}; {_ENTRIES}", after)

    def _begun(self, text: str, after: int) -> Begun:
        results = self._run(text, {"after": after, "limit": ENTRIES_AT_ONCE})
        ((newest, now, version),), entries = results[-2:]
        require_same_version(str(version), self.version, self.location.schema)
        return Begun([_entry(row) for row in entries], int(newest), int(now))

    def commit(self, mark: str, entry: NewEntry, *, durable: bool) -> int:
        """Write the changes to the tables and to the log, and release the lock.

        Returns the position of the entry.
        """
        values = _Values()
        texts = [self._payload(ref, content, values) for ref, content in entry.payloads.items()]
        texts += [_statement(one, values) for one in entry.shared]
        if not durable:
            texts.append("SET LOCAL synchronous_commit = off")
        parts = (entry.machine, mark, to_json(entry.shared), entry.own)
        arguments = ", ".join(values.add(one) for one in parts)
        texts += [f"SELECT append_to_fleet_log({arguments})", self._notify, "COMMIT"]
        results = self._run("; ".join(texts), values.found)
        return int(results[-1][0][0])

    def write_payloads(self, payloads: dict[str, bytes]) -> None:
        """Store payloads, in the caller's transaction."""
        for ref, content in payloads.items():
            values = _Values()
            self._run(self._payload(ref, content, values), values.found)

    def read_payloads(self, refs: list[str]) -> list[bytes]:
        """Return the content of those payloads that exist."""
        rows = self._run("SELECT content FROM payloads WHERE ref = ANY(%(refs)s)", {"refs": refs})
        return [bytes(row[0]) for row in rows[0]]

    @staticmethod
    def _payload(ref: str, content: bytes, values: _Values) -> str:
        marks = f"{values.add(ref)}, {values.add(content)}"
        return f"INSERT INTO payloads (ref, content) VALUES ({marks}) ON CONFLICT DO NOTHING"

    def cancel(self) -> None:
        """Release the lock; nothing is written. Never fails."""
        try:
            self.connection.rollback()
        except psycopg.Error:
            self.connection.close()

    def find_mark(self, mark: str) -> int | None:
        """Return the position of the entry with a mark; None if it was not written."""
        results = self._run("SELECT position FROM fleet_log WHERE mark = %(mark)s", {"mark": mark})
        return int(results[0][0][0]) if results[0] else None

    def own_entries(self, machine: str, after: int) -> list[LogEntry]:
        """Return what a machine wrote after a position."""
        results = self._run(
            "SELECT position, machine, shared, own FROM fleet_log"
            " WHERE machine = %(machine)s AND position > %(after)s ORDER BY position",
            {"machine": machine, "after": after},
        )
        return [_entry(row) for row in results[0]]

    def prune(self) -> None:
        """Delete old entries that all connected machines and their writers have.

        Payloads go with the last message that names them. Each machine has a copy of its own.
        """
        self._run(_PRUNE, {"age": f"{KEPT_S} s"})
        if not self._run(f"{_WITHOUT_MESSAGE} LIMIT 1", {})[0]:
            return
        self.begin_alone()
        try:
            some = f"{_WITHOUT_MESSAGE} LIMIT {ROWS_AT_ONCE}"
            self._run(f"DELETE FROM payloads WHERE ref IN ({some}); COMMIT", {})
        except BaseException:
            self.cancel()
            raise

    def forbidden_tables(self) -> list[str]:
        """Return the tables of the fleet that the role may not read and write."""
        return [row[0] for row in self.run(_FORBIDDEN, {"schema": self.location.schema})]

    def snapshot(self, columns: dict[str, list[str]]) -> Snapshot:
        """Return all rows of the tables with these columns, at one position of the log.

        In a transaction that was begun, the lock lets nobody write meanwhile.
        """
        has_lock = self.connection.info.transaction_status != IDLE
        if not has_lock:
            self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", {})
        try:
            position = self._run("SELECT COALESCE(MAX(position), 0) FROM fleet_log", {})[0][0][0]
            rows = {
                table: self._run(f"SELECT {', '.join(names)} FROM {table}", {})[0]
                for table, names in columns.items()
            }
            numbers = self._run("SELECT name, last FROM row_numbers", {})[0]
        finally:
            if not has_lock:
                self.cancel()
        return Snapshot(int(position), rows, dict(numbers))

    def write_rows(self, table: str, columns: list[str], rows: Sequence[tuple[Cell, ...]]) -> None:
        """Insert rows, in the caller's transaction."""
        for start in range(0, len(rows), ROWS_AT_ONCE):
            values = _Values()
            texts = [
                f"({', '.join(values.add(one) for one in row)})"
                for row in rows[start : start + ROWS_AT_ONCE]
            ]
            into = f"INSERT INTO {table} ({', '.join(columns)}) VALUES"
            self._run(f"{into} {', '.join(texts)}", values.found)

    def run(self, text: str, values: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Execute statements in one round trip; return the rows of the last one that has rows."""
        found = self._run(text, values or {})
        return found[-1] if found else []

    def _run(self, text: str, values: dict[str, Any]) -> list[list[tuple[Any, ...]]]:
        """Execute statements in one round trip; return the rows of each one that has rows.

        No setting outlives its transaction: behind a pooler, the next one has another connection.
        """
        if self.connection.info.transaction_status == IDLE:
            text = f"{self._settings}; {text}"
        try:
            cursor = self.connection.execute(text.encode(), values or None)
            return [*_results(cursor)]
        except psycopg.Error as error:
            raise translated(error, grant=self.grant) from error


class _Values:
    """The values of a text with many statements, by made-up names."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def add(self, value: object) -> str:
        """Return the place of a value in the text."""
        name = f"v{len(self.found)}"
        self.found[name] = value
        return f"%({name})s"


def _entry(row: tuple[Any, ...]) -> LogEntry:
    position, machine, shared, own = row
    return LogEntry(position, machine, from_json(shared), from_json(own))


def _results(cursor: psycopg.Cursor[Any]) -> Iterator[list[tuple[Any, ...]]]:
    while True:
        if cursor.description:
            yield cursor.fetchall()
        if not cursor.nextset():
            return


def _statement(change: RowChange, values: _Values) -> str:
    """Return the statement that makes a change."""
    where = " AND ".join(f"{name} = {values.add(value)}" for name, value in change.key.items())
    if change.kind == DELETE:
        return f"DELETE FROM {change.table} WHERE {where}"
    if change.kind == INSERT:
        marks = ", ".join(values.add(value) for value in change.values.values())
        return f"INSERT INTO {change.table} ({', '.join(change.values)}) VALUES ({marks})"
    new = ", ".join(f"{name} = {values.add(value)}" for name, value in change.values.items())
    return f"UPDATE {change.table} SET {new} WHERE {where}"
