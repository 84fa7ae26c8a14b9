"""A store on PostgreSQL: one connection per thread, one writer of a repository at a time.

Each write transaction first takes an advisory lock of its repository, so that the order of
sequence numbers is the order of commits: a cursor misses no row, and every rule that is written for
SQLite's single writer stays true.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import dict_row

from gitworker.errors import Invalid, Unavailable
from gitworker.store.postgres.adapters import adapt
from gitworker.store.postgres.errors import translated
from gitworker.store.postgres.location import Location, parse_location
from gitworker.store.postgres.queries import query_text
from gitworker.store.postgres.rules_dialect import WRITER_SETTING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.store.api import Row, Value, Waker

BUSY_TIMEOUT_MS = 5000
_TABLES = (
    "SELECT table_name AS name FROM information_schema.tables"
    " WHERE table_schema = %(schema)s AND table_type = 'BASE TABLE' ORDER BY table_name"
)


class PostgresDatabase:
    """A connection to one repository's schema that runs named queries.

    Raises Unavailable if the server does not answer or refuses the connection.
    """

    def __init__(self, text: str) -> None:
        self.location: Location = parse_location(text)
        schema = self.location.quoted_schema
        try:
            self.connection = psycopg.connect(
                self.location.conninfo, autocommit=True, cursor_factory=psycopg.ClientCursor,
                row_factory=dict_row, application_name="gitworker",
            )  # fmt: skip
            adapt(self.connection)
            self.connection.execute(
                f"SET search_path = {schema}; SET {WRITER_SETTING} = 'on';"
                f" SET lock_timeout = {BUSY_TIMEOUT_MS}"
            )
        except psycopg.Error as error:
            raise translated(error) from error
        key = self.location.schema.replace("'", "''")
        self._lock = f"SELECT pg_advisory_xact_lock(hashtextextended('gitworker:{key}', 0))"
        self._notify = f"NOTIFY {schema}"

    @cached_property
    def is_read_only(self) -> bool:
        """Whether the server only answers reads: a replica, or by its settings."""
        (row,) = self.execute(
            "SELECT pg_is_in_recovery() OR"
            " current_setting('default_transaction_read_only')::boolean AS found"
        )
        return bool(row["found"])

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def row(self, query: str, **values: Value) -> Row | None:
        """Return the first row of a named query, or None."""
        rows = self.rows(query, **values)
        return rows[0] if rows else None

    def rows(self, query: str, **values: Value) -> list[Row]:
        """Return every row of a named query as a mapping of column names."""
        return self.execute(query_text(query), values)

    def run(self, query: str, **values: Value) -> int:
        """Execute a named statement and return how many rows it changed."""
        return self._cursor(query_text(query), values).rowcount

    def execute(self, sql: str, values: dict[str, Value] | None = None) -> list[Row]:
        """Execute SQL text of this backend and return its rows."""
        cursor = self._cursor(sql, values)
        return [*cursor.fetchall()] if cursor.description else []

    def _cursor(
        self, sql: str, values: dict[str, Value] | None = None
    ) -> psycopg.Cursor[dict[str, Any]]:
        try:
            return self.connection.execute(sql.encode(), values)
        except UnicodeEncodeError as error:
            raise Invalid(f"{ascii(error.object)[:80]} is not valid UTF-8") from None
        except psycopg.Error as error:
            raise translated(error) from error

    def write_one(self, query: str, *, durable: bool = True, **values: Value) -> int:
        """Execute one named statement as a transaction of its own; return how many rows changed."""
        with self.write(durable=durable) as writer:
            return writer.run(query, **values)

    def read(self) -> Transaction:
        """Give one consistent snapshot."""
        return Transaction(self, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "ROLLBACK")

    def write(self, *, durable: bool = True) -> Transaction:
        """Give one write transaction, committed on a clean exit and rolled back otherwise.

        If `durable`, it is on the server's disk when it ends.
        """
        fast = "" if durable else " SET LOCAL synchronous_commit = off;"
        return Transaction(self, f"BEGIN;{fast} {self._lock}", f"{self._notify}; COMMIT")

    def wait_at_most(self, ms: int) -> None:
        """Let each write wait so long for other writers."""
        self.execute(f"SET lock_timeout = {ms}")

    def require_writable(self) -> None:
        """Raise Unavailable if the server is a replica."""
        from gitworker.store.postgres.errors import read_only

        if self.is_read_only:
            raise read_only()

    def change_mark(self) -> int:
        """Return a number that changes when another connection has committed.

        It may also change for another reason.
        """
        from zlib import crc32

        (row,) = self.execute("SELECT pg_current_snapshot()::text AS found")
        return crc32(str(row["found"]).encode())

    def open_waker(self, *, on_spool: Callable[[], object] | None = None) -> Waker:
        """Return a waker for this store. `on_spool` is not called: the spool is a local matter."""
        from gitworker.store.postgres.waking import ListeningWaker

        return ListeningWaker(self.location, own_pid=self.connection.info.backend_pid)

    def backup(self, target: str) -> None:
        """Write a consistent copy to another schema of the same database, which appears complete.

        Writers wait meanwhile. Raises Unavailable for a target that is not one.
        """
        from gitworker.store.postgres.schema import guards_script, tables_script

        to = _target(target, self.location)
        with self.write():
            rows = self.execute(_TABLES, {"schema": self.location.schema})
            copies = "".join(
                f"TRUNCATE {row['name']}; INSERT INTO {row['name']}"
                f" SELECT * FROM {self.location.quoted_schema}.{row['name']};"
                for row in rows
            )
            self.execute(
                f"DROP SCHEMA IF EXISTS {to.quoted_schema} CASCADE;"
                f" CREATE SCHEMA {to.quoted_schema}; SET LOCAL search_path = {to.quoted_schema};"
                f" {tables_script()}; {copies} {guards_script()}"
            )


def _target(text: str, own: Location) -> Location:
    """Return the location of a copy; raise Unavailable for another database, or for no location."""
    try:
        found = parse_location(text)
    except Invalid as error:
        raise Unavailable(error.message, code="bad_location") from None
    if found.conninfo != own.conninfo or found.schema == own.schema:
        raise Unavailable("a copy is another schema of the same database", code="bad_location")
    return found


class Transaction:
    """A transaction that ends with `end` on a clean exit, else is rolled back."""

    __slots__ = ("begin", "database", "end")

    def __init__(self, database: PostgresDatabase, begin: str, end: str) -> None:
        self.database, self.begin, self.end = database, begin, end

    def __enter__(self) -> PostgresDatabase:
        """Begin the transaction; a writer waits for the one before it."""
        try:
            self.database.execute(self.begin)
        except BaseException:
            self._roll_back()
            raise
        return self.database

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End or roll back the transaction."""
        try:
            if kind is None:
                self.database.execute(self.end)
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        connection = self.database.connection
        if connection.closed:
            return
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            self.database.execute("ROLLBACK")
