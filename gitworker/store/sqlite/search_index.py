"""search.db: a full-text index of the messages, derived from bus.db and expendable.

It is a separate file, so that publishing does not write it and bus.db has no virtual table that an
old SQLite could not open. It stores words and positions only, no text. A missing or damaged index,
or one of another version, is rebuilt.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import apsw

from gitworker.store.sqlite.database import BUSY_TIMEOUT_MS, translated

VERSION = 2
_SCHEMA = f"""
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TABLE IF NOT EXISTS position (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last_seq INTEGER NOT NULL,
    last_id TEXT NOT NULL
);
INSERT OR IGNORE INTO position (id, last_seq, last_id) VALUES (1, 0, '');
PRAGMA user_version = {VERSION};
"""
_DAMAGED = (apsw.NotADBError, apsw.CorruptError)


class SqliteSearchIndex:
    """A connection to search.db.

    Raises Unavailable if the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.connection = self._open()
        except apsw.Error as error:
            raise translated(error, path) from error

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def position(self) -> int:
        """Return the position up to which all messages are indexed."""
        return self.last()[0]

    def last(self) -> tuple[int, str]:
        """Return the position and the id of its message; 0 and empty for an empty index."""
        ((seq, id),) = self._execute("SELECT last_seq, last_id FROM position WHERE id = 1")
        return int(seq), str(id)

    def add(self, texts: Sequence[tuple[int, str]], *, until: int, last_id: str) -> None:
        """Index the texts of messages up to `until`, whose id is `last_id`, in one transaction.

        Messages that another process has indexed since are skipped.
        """
        with self._transaction():
            known = self.position()
            for seq, text in texts:
                if seq > known:
                    self._execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (seq, text))
            self._execute(
                "UPDATE position SET last_seq = ?, last_id = ? WHERE id = 1 AND last_seq < ?",
                (until, last_id, until),
            )

    def find(self, expression: str, *, before: int, limit: int) -> list[int]:
        """Return the newest messages below `before` that match, newest first."""
        rows = self._execute(
            "SELECT rowid FROM words WHERE words MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?",
            (expression, before, limit),
        )
        return [int(row[0]) for row in rows]

    def drop(self, seqs: Sequence[int]) -> None:
        """Remove messages from the index."""
        with self._transaction():
            for seq in seqs:
                self._execute("DELETE FROM words WHERE rowid = ?", (seq,))

    def drop_below(self, seq: int) -> None:
        """Remove every message below a position."""
        with self._transaction():
            self._execute("DELETE FROM words WHERE rowid < ?", (seq,))

    def clear(self) -> None:
        """Delete the index and create an empty one."""
        self.connection.close()
        self._remove()
        self.connection = self._open()

    def _open(self) -> apsw.Connection:
        try:
            return self._connect()
        except _DAMAGED:
            self._remove()
            return self._connect()

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(self.path)
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.pragma("journal_mode", "wal")
            connection.execute("PRAGMA synchronous = NORMAL")
            version = connection.pragma("user_version")
            if version == 0:
                connection.execute(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT")
            elif version != VERSION:
                raise apsw.NotADBError("of another version")
        except BaseException:
            connection.close()
            raise
        return connection

    def _remove(self) -> None:
        for suffix in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                os.unlink(f"{self.path}{suffix}")

    def _execute(self, sql: str, values: tuple[int | str, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            rows = self.connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise translated(error, self.path) from error
        return rows

    def _transaction(self) -> _Transaction:
        return _Transaction(self)


class _Transaction:
    """A BEGIN IMMEDIATE, committed on a clean exit."""

    def __init__(self, index: SqliteSearchIndex) -> None:
        self._index = index

    def __enter__(self) -> None:
        self._index._execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._index._execute("COMMIT" if kind is None else "ROLLBACK")
