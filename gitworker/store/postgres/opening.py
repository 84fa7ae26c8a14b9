"""Open a repository's schema: create it, or refuse one of another version."""

from __future__ import annotations

import json

from gitworker.errors import Unavailable
from gitworker.store.postgres.database import PostgresDatabase
from gitworker.store.postgres.schema import guards_script, tables_script
from gitworker.store.sqlite.migrate import SCHEMA_VERSION


def open_postgres(location: str) -> PostgresDatabase:
    """Open an existing store; refuse one of another version. Raises Unavailable without one."""
    database = PostgresDatabase(location)
    try:
        _require_version(database)
    except BaseException:
        database.close()
        raise
    return database


def create_postgres(location: str) -> PostgresDatabase:
    """Open a store, or create it; safe against concurrent creators."""
    database = PostgresDatabase(location)
    try:
        with database.write():
            if _version(database) is None:
                _create(database)
        _require_version(database)
    except BaseException:
        database.close()
        raise
    return database


def _create(database: PostgresDatabase) -> None:
    from gitworker.states.engine import legal_rows
    from gitworker.states.machines import MACHINES

    database.execute(f"CREATE SCHEMA IF NOT EXISTS {database.location.quoted_schema}")
    database.execute(tables_script())
    rows = [list(row) for machine in MACHINES.values() for row in legal_rows(machine)]
    database.execute(
        "INSERT INTO legal_transitions (machine, from_state, event, to_state)"
        " SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'),"
        " json_extract(value, '$[2]'), json_extract(value, '$[3]') FROM each_json(%(rows)s)",
        {"rows": json.dumps(rows)},
    )
    database.execute(
        "INSERT INTO meta (key, value) VALUES ('gitworker_schema', %(version)s)",
        {"version": str(SCHEMA_VERSION)},
    )
    database.execute(guards_script())


def _version(database: PostgresDatabase) -> str | None:
    """Return the recorded version; None without a store. Does not fail the transaction."""
    (row,) = database.execute("SELECT to_regclass('meta') AS found")
    if row["found"] is None:
        return None
    rows = database.execute("SELECT value FROM meta WHERE key = 'gitworker_schema'")
    return str(rows[0]["value"]) if rows else "none"


def _require_version(database: PostgresDatabase) -> None:
    found = _version(database)
    schema = database.location.schema
    if found is None:
        raise Unavailable(f"the schema {schema} has no store", code="not_initialised")
    if found != str(SCHEMA_VERSION):
        newer = found.isdigit() and int(found) > SCHEMA_VERSION
        raise Unavailable(
            f"the schema {schema} has version {found}; this gitworker knows {SCHEMA_VERSION}",
            "pip install --upgrade gitworker" if newer else "git worker doctor",
            code="newer_schema" if newer else "older_schema",
        )
