"""Changes of rows: recorded from a transaction on SQLite, written as JSON, applied to a replica."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import apsw

from gitworker.store.fleet.rules_tables import OWN_COLUMNS, REQUIRED, is_shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set

    from gitworker.store.sqlite.database import Database

    Cell = str | int | float | None

DELETE, UPDATE, INSERT = "delete", "update", "insert"
# Rows that make room come first, so that a unique value may pass from one row to another.
_ORDER = {"DELETE": DELETE, "UPDATE": UPDATE, "INSERT": INSERT}


class RowChange(NamedTuple):
    """One row that was inserted, updated or deleted.

    `values` are those of the whole row for an insert, of the changed columns for an update.
    """

    table: str
    kind: str
    key: dict[str, Cell]
    values: dict[str, Cell]


class Recording:
    """Records the changes of one transaction of a connection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._session = apsw.Session(database.connection, "main")
        self._session.attach()

    def changes(self) -> list[RowChange]:
        """Return the changes, deletions first."""
        found = [self._change(one) for one in apsw.Changeset.iter(self._session.changeset())]
        found.sort(key=lambda one: list(_ORDER.values()).index(one.kind))
        return [one for one in found if one.kind != UPDATE or one.values]

    def close(self) -> None:
        """End the recording, before the transaction ends."""
        self._session.close()

    def _change(self, found: apsw.TableChange) -> RowChange:
        columns = column_names(self._database, found.name)
        old = found.old or (apsw.no_change,) * len(columns)
        new = found.new or (apsw.no_change,) * len(columns)
        key = {
            columns[index]: _cell(old[index] if old[index] is not apsw.no_change else new[index])
            for index in found.pk_columns
        }
        values = {
            name: _cell(value)
            for name, value in zip(columns, new, strict=True)
            if value is not apsw.no_change
        }
        return RowChange(found.name, _ORDER[found.op], key, values)


def column_names(database: Database, table: str) -> list[str]:
    """Return the columns of a table, in their order."""
    rows = database.execute("SELECT name FROM pragma_table_info(:table)", {"table": table})
    return [str(row["name"]) for row in rows]


def _cell(value: object) -> Cell:
    if isinstance(value, bytes):  # a foreign program's; PostgreSQL's columns hold text
        return value.decode("utf-8", "replace")
    assert value is None or isinstance(value, str | int | float), value
    return value


def divided(changes: Iterable[RowChange]) -> tuple[list[RowChange], list[RowChange]]:
    """Return the changes that all machines share, and those of this machine alone.

    The second are rows of its own tables, and its own columns of shared rows.
    """
    shared: list[RowChange] = []
    own: list[RowChange] = []
    for one in changes:
        if not is_shared(one.table):
            own.append(one)
            continue
        columns = OWN_COLUMNS.get(one.table, frozenset())
        kept = {name: value for name, value in one.values.items() if name in columns}
        if kept and (one.kind == UPDATE or any(kept.values())):
            own.append(RowChange(one.table, UPDATE, one.key, kept))
        left = _shared_values(one, columns)
        if left or one.kind != UPDATE:
            shared.append(one._replace(values=left))
    return shared, own


def _shared_values(change: RowChange, own: Set[str]) -> dict[str, Cell]:
    """Return the values that all machines get.

    A claim that passes to another holder has its new lease on all of them; one that is renewed does
    not.
    """
    left = {name: value for name, value in change.values.items() if name not in own}
    if left:
        left |= {name: value for name, value in change.values.items() if name in REQUIRED}
    return left


def to_json(changes: Iterable[RowChange]) -> str:
    """Return changes as JSON: an array of arrays."""
    return json.dumps([list(one) for one in changes], ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> list[RowChange]:
    """Return the changes that `to_json` wrote."""
    return [RowChange(*one) for one in json.loads(text)]


def apply_changes(database: Database, changes: Iterable[RowChange]) -> None:
    """Make the same changes; the caller's transaction has no triggers."""
    for one in changes:
        sql, values = _statement(one)
        database.connection.execute(sql, values)


def _statement(change: RowChange) -> tuple[str, Mapping[str, Cell]]:
    where = " AND ".join(f"{name} = :key_{name}" for name in change.key)
    key = {f"key_{name}": value for name, value in change.key.items()}
    if change.kind == DELETE:
        return f"DELETE FROM {change.table} WHERE {where}", key
    names = list(change.values)
    if change.kind == INSERT:
        marks = ", ".join(f":{name}" for name in names)
        into = f"{change.table} ({', '.join(names)})"
        return f"INSERT OR REPLACE INTO {into} VALUES ({marks})", change.values
    new = ", ".join(f"{name} = :{name}" for name in names)
    return f"UPDATE {change.table} SET {new} WHERE {where}", {**change.values, **key}
