"""bus.db as a replica of a fleet's shared tables: its machine, its position, its guards.

`meta` holds the machine's id and the position in the log up to which the replica has all changes.
Triggers refuse other programs, and connections that do not write by way of the link.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from gitworker.errors import Unavailable
from gitworker.store.fleet.changes import apply_changes, column_names
from gitworker.store.fleet.rules_tables import OWN_COLUMNS, is_shared
from gitworker.store.sqlite.migrate import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gitworker.store.api import Row, Value
    from gitworker.store.fleet.changes import Cell, RowChange
    from gitworker.store.sqlite.database import Database

    Columns = dict[str, list[str]]

MACHINE, POSITION, LOCATION = "fleet_machine", "fleet_position", "fleet_location"
JOINING, FOLLOWED = "fleet_joining", "fleet_followed"
INCARNATION = "fleet_incarnation"  # of the machine: how often one of this name has joined
SERVER = "fleet_server"  # the start of the server that the replica was read from
SCHEMA = "fleet_schema"  # the version at which all shared rows were read last
BEFORE_RESTART = ".before-restart"  # in the name of a copy with what the server has lost
LOGS = {"bus": "messages", "transitions": "transitions"}  # the table of each exported log
_PREFIX = "fleet_guard_"
_SET = (
    "INSERT INTO meta (key, value) VALUES (:key, :value)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
_FIND_INCARNATION = "SELECT incarnation FROM machines WHERE id = :machine"
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
_FIND_OWNER = (
    f"SELECT key, value FROM meta WHERE key IN ('{MACHINE}', '{LOCATION}', 'gitworker_schema')"
)
_OUR_TRIGGERS = (
    "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'fleet_guard_%'"
)


class LogEntry(NamedTuple):
    """One transaction of the fleet: the shared rows, and those that its machine has for itself."""

    position: int
    machine: str
    shared: list[RowChange]
    own: list[RowChange]


class Snapshot(NamedTuple):
    """All shared rows at a position of the log, and the last number of each numbered table."""

    position: int
    rows: dict[str, list[tuple[Any, ...]]]
    numbers: dict[str, int]


def shared_tables(database: Database) -> list[str]:
    """Return the names of the tables that all machines share."""
    return [str(row["name"]) for row in database.execute(_TABLES) if is_shared(str(row["name"]))]


def find_position(database: Database) -> int:
    """Return the position of the last entry in the replica."""
    return int(_find(database, POSITION) or 0)


def find_location(database: Database) -> str:
    """Return the location of the fleet, which has no password."""
    return _find(database, LOCATION)


def belongs_to(database: Database, machine: str, location: str) -> bool:
    """Return whether the store is the replica of a machine in the fleet at a location.

    And of the version that this program knows.
    """
    found = {row["key"]: row["value"] for row in database.execute(_FIND_OWNER)}
    return found == {
        MACHINE: machine, LOCATION: location, "gitworker_schema": str(SCHEMA_VERSION)
    }  # fmt: skip


def is_member(database: Database) -> bool:
    """Return whether the machine has neither left the fleet, nor has another joined as it since."""
    values: dict[str, Value] = {"machine": database.fleet_machine}
    found = database.execute(f"{_FIND_INCARNATION} AND left_at_ms IS NULL", values)
    return bool(found) and str(found[0]["incarnation"]) == _find(database, INCARNATION)


def is_migrated(database: Database) -> bool:
    """Return whether the replica was migrated after its shared rows were read.

    A migration here and the one on the server may have seen other rows.
    """
    return _find(database, SCHEMA) != str(SCHEMA_VERSION)


def find_server(database: Database) -> str:
    """Return the start of the server that the replica was read from; empty if none was noted."""
    return _find(database, SERVER)


def set_server(database: Database, started: str) -> None:
    """Record the start of the server; raise Unavailable if the machine has left."""
    with database.write(durable=False):
        _require_machine(database)
        database.execute(_SET, {"key": SERVER, "value": started})


def _find(database: Database, key: str) -> str:
    rows = database.execute("SELECT value FROM meta WHERE key = :key", {"key": key})
    return str(rows[0]["value"]) if rows else ""


def apply_entries(
    database: Database, entries: Iterable[LogEntry], *, is_answer: bool = False
) -> None:
    """Bring the replica forward, in one transaction; entries that it has already are left out.

    `is_answer`: the command that wrote them waits, and nobody has to follow them.
    """
    machine = database.fleet_machine
    with unguarded(database), database.write(durable=False):
        _require_machine(database)
        position = find_position(database)
        for entry in entries:
            if entry.position <= position:
                continue
            is_own = entry.machine == machine
            moves = is_own and is_answer and any(one.table == "transitions" for one in entry.shared)
            was_followed = moves and is_followed(database)
            apply_changes(database, entry.shared)
            if is_own:
                apply_changes(database, entry.own)
                if was_followed:
                    database.execute(_SET, {"key": FOLLOWED, "value": str(_newest(database))})
            else:
                _give_up_places(database, entry.shared, machine)
            position = entry.position
        set_position(database, position)


def is_followed(database: Database) -> bool:
    """Return whether this machine has followed all that others have recorded in the replica."""
    return int(_find(database, FOLLOWED) or 0) >= _newest(database)


def _newest(database: Database) -> int:
    return int(database.execute("SELECT MAX(seq) AS seq FROM transitions")[0]["seq"] or 0)


def _give_up_places(database: Database, changes: Iterable[RowChange], machine: str | None) -> None:
    """Forget the worktrees here of workers that have theirs on another machine now."""
    for one in changes:
        if one.table == "workers" and one.values.get("machine") not in (None, machine):
            database.connection.execute(
                "UPDATE workers SET worktree = NULL, admin_dir = NULL WHERE worker_id = ?",
                (one.key["worker_id"],),
            )


def _require_machine(database: Database) -> None:
    """Raise Unavailable if the machine has left its fleet since this connection was opened."""
    if _find(database, MACHINE) != database.fleet_machine:
        raise Unavailable("this repository is in no fleet", "git worker fleet status")


def set_position(database: Database, position: int) -> None:
    """Record the position of the replica."""
    database.execute(_SET, {"key": POSITION, "value": str(position)})


def copy_rows(database: Database, table: str) -> tuple[list[str], list[tuple[Cell, ...]]]:
    """Return a table's columns and all its rows."""
    columns = column_names(database, table)
    rows = database.connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
    return columns, rows


def replace_shared_rows(
    database: Database, read: Callable[[Columns], Snapshot], *, own: Iterable[LogEntry]
) -> None:
    """Replace the rows of all shared tables by a snapshot, in one transaction.

    `own` are the entries of this machine that the replica does not have yet.
    """
    columns = {table: column_names(database, table) for table in shared_tables(database)}
    found = read(columns)
    with unguarded(database), database.write(durable=False):
        _require_machine(database)
        fill_shared_tables(database, columns, found)
        _limit_positions(database, found.numbers)
        _set_guards(database)
        for entry in own:
            apply_changes(database, entry.own)


def lacks_rows(database: Database, found: Snapshot) -> bool:
    """Return whether the replica has messages or transitions that a snapshot has not yet."""
    rows = database.execute("SELECT name, seq FROM sqlite_sequence")
    known = {str(row["name"]): int(str(row["seq"])) for row in rows}
    return any(known.get(table, 0) > found.numbers.get(table, 0) for table in LOGS.values())


def _limit_positions(database: Database, numbers: dict[str, int]) -> None:
    """Move what has been read or exported back to the last rows, whose numbers are given again."""
    last = {log: numbers.get(table, 0) for log, table in LOGS.items()}
    database.execute(
        "UPDATE cursors SET last_acked_seq = MIN(last_acked_seq, :last)", {"last": last["bus"]}
    )
    for log, seq in last.items():
        database.execute(
            "UPDATE export_positions SET last_seq = MIN(last_seq, :last) WHERE log = :log",
            {"log": log, "last": seq},
        )
    followed = min(int(_find(database, FOLLOWED) or 0), last["transitions"])
    database.execute(_SET, {"key": FOLLOWED, "value": str(followed)})


def fill_shared_tables(database: Database, columns: Columns, found: Snapshot) -> None:
    """Replace the rows of all shared tables; the caller's transaction has no triggers.

    The machine's own columns keep their values.
    """
    kept = {
        table: database.execute(f"SELECT * FROM {table}")
        for table in OWN_COLUMNS
        if table in columns
    }
    for table, names in columns.items():
        marks = ", ".join("?" for _ in names)
        database.connection.execute(f"DELETE FROM {table}")
        database.connection.executemany(
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", found.rows[table]
        )
    for table, last in found.numbers.items():
        database.connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        database.connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, last))
    for table, rows in kept.items():
        _restore_own_columns(database, table, rows)
    set_position(database, found.position)
    database.execute(_SET, {"key": SCHEMA, "value": str(SCHEMA_VERSION)})


def _restore_own_columns(database: Database, table: str, rows: Iterable[Row]) -> None:
    key = _KEYS[table]
    own = sorted(OWN_COLUMNS[table])
    new = ", ".join(f"{name} = :{name}" for name in own)
    for row in rows:
        values = {name: row[name] for name in (key, *own)}
        database.execute(f"UPDATE {table} SET {new} WHERE {key} = :{key}", values)


_KEYS = {"task_claims": "task_id", "workers": "worker_id"}


@contextmanager
def unguarded(database: Database) -> Iterator[None]:
    """Run without triggers: what they do is part of the changes."""
    database.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    try:
        yield
    finally:
        database.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)


def become_replica(database: Database, machine: str, location: str) -> None:
    """Mark the store as the replica of a machine, in the caller's transaction."""
    database.execute(_SET, {"key": MACHINE, "value": machine})
    database.execute(_SET, {"key": LOCATION, "value": location})
    (row,) = database.execute(_FIND_INCARNATION, {"machine": machine})
    database.execute(_SET, {"key": INCARNATION, "value": str(row["incarnation"])})
    _set_guards(database)


def _set_guards(database: Database) -> None:
    """Let the guards fit the tables, which a migration may have changed."""
    _drop_guards(database)
    for table in shared_tables(database):
        for text in _guards(database, table):
            database.execute(text)
    database.execute(
        f"CREATE TRIGGER {_PREFIX}place AFTER UPDATE OF worktree ON workers"
        " WHEN NEW.worktree IS NOT NULL AND NEW.worktree IS NOT OLD.worktree BEGIN"
        " UPDATE workers SET machine = (SELECT value FROM meta WHERE key = 'fleet_machine')"
        " WHERE worker_id = NEW.worker_id; END"
    )


def note_joining(database: Database) -> str:
    """Return the mark of this store, by which the fleet knows it after a killed join."""
    mark = _find(database, JOINING) or os.urandom(16).hex()
    database.execute(_SET, {"key": JOINING, "value": mark})
    return mark


def end_replica(database: Database) -> None:
    """Make the store one of its own again, in the caller's transaction."""
    _drop_guards(database)
    database.execute("DELETE FROM meta WHERE key GLOB 'fleet_*'")


def _drop_guards(database: Database) -> None:
    for row in database.execute(_OUR_TRIGGERS):
        database.execute(f"DROP TRIGGER {row['name']}")


def _guards(database: Database, table: str) -> Iterator[str]:
    refuse = (
        "SELECT RAISE(ABORT, 'gitworker: fleet') WHERE gitworker_writes_to_the_fleet() IS NOT 1"
    )
    own = OWN_COLUMNS.get(table, frozenset())
    columns = [name for name in column_names(database, table) if name not in own]
    of = f" OF {', '.join(columns)}" if own else ""
    for event in ("INSERT", f"UPDATE{of}", "DELETE"):
        name = f"{_PREFIX}{table}_{event.split()[0].lower()}"
        yield f"CREATE TRIGGER {name} BEFORE {event} ON {table} BEGIN {refuse}; END"
