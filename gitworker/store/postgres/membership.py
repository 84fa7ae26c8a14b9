"""The machines of a fleet on the server: the schema, the first rows, the row of each machine.

All functions belong to one transaction, which `begin_schema` begins.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.store.fleet.machines import LEASE_MS
from gitworker.store.fleet.replica import Snapshot
from gitworker.store.postgres.errors import (
    foreign_schema,
    incomplete,
    no_rights,
)
from gitworker.store.postgres.migrate import migrate
from gitworker.store.postgres.schema import LEGAL, guards_script, tables_script
from gitworker.store.sqlite.migrate import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitworker.store.postgres.server import FleetServer

_NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_ADD = f"""
INSERT INTO machines (id, name, host, version, joined_at_ms, seen_at_ms, lease_until_ms,
    capabilities)
VALUES (%(id)s, %(id)s, %(host)s, %(version)s, {_NOW}, {_NOW}, {_NOW} + {LEASE_MS},
    %(capabilities)s)
ON CONFLICT (id) DO UPDATE SET host = excluded.host, version = excluded.version,
    seen_at_ms = excluded.seen_at_ms, lease_until_ms = excluded.lease_until_ms, left_at_ms = NULL,
    incarnation = machines.incarnation + 1, capabilities = excluded.capabilities,
    needs_from = 0
RETURNING row_to_json(machines)::text"""


_JOINS = """
SELECT position, mark FROM fleet_log
WHERE machine = %(machine)s AND shared LIKE '[["machines", "insert"%%' ORDER BY position"""
_HAS_WORK = """
SELECT EXISTS (SELECT 1 FROM fleet_log, jsonb_array_elements(shared::jsonb) AS change
    WHERE position > %(after)s AND change ->> 0 <> 'machines')"""


# Whether a schema exists, and whether the role may make it, or tables in it.
_MAY_MAKE = """
SELECT COUNT(*) > 0, COALESCE(
    bool_and(has_schema_privilege(oid, 'USAGE') AND has_schema_privilege(oid, 'CREATE')),
    has_database_privilege(current_database(), 'CREATE'))
FROM pg_namespace WHERE nspname = %(name)s"""


class NewMachine(NamedTuple):
    """A machine that joins; `capabilities` are a JSON array."""

    id: str
    host: str
    version: str
    capabilities: str = "[]"


def begin_schema(server: FleetServer) -> None:
    """Begin a transaction with the lock; make a missing schema, migrate or refuse another."""
    server.begin_alone()
    if server.run("SELECT to_regclass('fleet_log')")[0][0] is None:
        _make_schema(server)
    migrate(server)


def _make_schema(server: FleetServer) -> None:
    from gitworker.states.engine import legal_rows  # only for a new schema
    from gitworker.states.machines import MACHINES

    schema = server.location.schema
    ((exists, may_make),) = server.run(_MAY_MAKE, {"name": schema})
    if not may_make:
        raise no_rights(schema, server.role, exists=exists)
    if not exists:
        server.run(f"CREATE SCHEMA {server.location.quoted_schema}")
    tables = server.run("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    if tables:
        raise foreign_schema(schema, tables[0][0])
    server.run("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    server.run(tables_script())
    server.run(guards_script())
    rows = [row for one in MACHINES.values() for row in legal_rows(one)]
    server.run(f"ALTER TABLE {LEGAL} DISABLE TRIGGER USER")
    server.write_rows(LEGAL, ["machine", "from_state", "event", "to_state"], rows)
    server.run(f"ALTER TABLE {LEGAL} ENABLE TRIGGER USER")
    server.run(
        "INSERT INTO meta VALUES ('gitworker_schema', %(version)s)",
        {"version": str(SCHEMA_VERSION)},
    )


def present_machines(server: FleetServer) -> dict[str, bool]:
    """Return the machines that have not left, and whether each one has a lease."""
    rows = server.run(f"SELECT id, lease_until_ms > {_NOW} FROM machines WHERE left_at_ms IS NULL")
    return {row[0]: bool(row[1]) for row in rows}


def find_join(server: FleetServer, machine: str, mark: str) -> int | None:
    """Return the position of the first entry with which a store joined; `mark` is the store's.

    None if it has not, or if another one has joined under the machine's name since.
    """
    rows = server.run(_JOINS, {"machine": machine})
    positions = [int(row[0]) for row in rows if row[1].partition("-")[0] == mark]
    return min(positions) if positions and max(positions) == int(rows[-1][0]) else None


def has_work_since(server: FleetServer, position: int) -> bool:
    """Return whether the log has changes of other tables than that of the machines."""
    return bool(server.run(_HAS_WORK, {"after": position})[0][0])


def read_versions(server: FleetServer) -> dict[str, int]:
    """Return the version of each task."""
    return {row[0]: int(row[1]) for row in server.run("SELECT id, version FROM tasks")}


def add_machine(server: FleetServer, machine: NewMachine, mark: str) -> None:
    """Add a machine, or let one of this name come back, and tell the others.

    The entry begins with the store's mark, by which one that was killed while it joined is known.
    """
    (row,) = server.run(_ADD, machine._asdict())
    change = ["machines", "insert", {"id": machine.id}, json.loads(row[0])]
    server.run(
        "SELECT append_to_fleet_log(%(machine)s, %(mark)s, %(change)s, '[]')",
        {
            "machine": machine.id,
            "mark": f"{mark}-{os.urandom(4).hex()}",
            "change": json.dumps([change]),
        },
    )


def write_table(
    server: FleetServer, table: str, columns: list[str], rows: list[tuple[Any, ...]]
) -> None:
    """Replace the rows of a table; raise Unavailable if they are not all there then."""
    server.run(f"DELETE FROM {table}")
    server.write_rows(table, columns, rows)
    count = server.run(f"SELECT COUNT(*) FROM {table}")[0][0]
    if count != len(rows):
        raise incomplete(table, count, len(rows))


def set_numbers(server: FleetServer, numbers: Iterable[tuple[str, int]]) -> None:
    """Record the last number of each numbered table."""
    for name, last in numbers:
        server.run(
            "UPDATE row_numbers SET last = %(last)s WHERE name = %(name)s",
            {"name": name, "last": last},
        )


def read_content(server: FleetServer, columns: dict[str, list[str]]) -> Snapshot:
    """Return all rows as the transaction sees them."""
    rows = {
        table: server.run(f"SELECT {', '.join(names)} FROM {table}")
        for table, names in columns.items()
    }
    position = server.run("SELECT MAX(position) FROM fleet_log")[0][0]
    return Snapshot(int(position), rows, dict(server.run("SELECT name, last FROM row_numbers")))


def commit(server: FleetServer) -> None:
    """End the transaction; the others hear of it."""
    server.run(f"NOTIFY {server.location.quoted_schema}; COMMIT")
