"""Open bus.db: create it, add our tables to a foreign one, migrate an old one, refuse a newer one.

`meta.gitworker_schema` is our version; `meta.schema_version` stays the bus protocol's `1`.
Everything runs in one transaction under the gate, so that any number of first commands may race.
"""

from __future__ import annotations

import os

import apsw

from gitworker.errors import Unavailable
from gitworker.paths import StatePaths, refuse_misplaced
from gitworker.store.sqlite.database import Database, translated
from gitworker.store.sqlite.write_gate import WriteGate

SCHEMA_VERSION = 12
_HERE = os.path.dirname(__file__)
# Not in schema.sql, since it is created after the rows. No row of `meta` can disable it.
FREEZE = """
CREATE TRIGGER IF NOT EXISTS legal_no_insert BEFORE INSERT ON legal_transitions BEGIN
    SELECT RAISE(ABORT, 'gitworker: the state machines are fixed');
END"""
_SET_VERSION = (
    "INSERT INTO meta (key, value) VALUES ('gitworker_schema', :version)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
_FIND_VERSIONS = (
    "SELECT key, value FROM meta"
    " WHERE key IN ('gitworker_schema', 'schema_version', 'fleet_machine')"
)
PROTOCOL_VERSION = "1"
# The newest version whose tables exist, for a file whose row in `meta` was deleted.
_VERSION_OF_TABLES = """
SELECT COALESCE(MAX(version), 0) AS version FROM (
    SELECT 1 AS version FROM sqlite_schema WHERE name = 'transitions'
    UNION ALL SELECT 2 FROM sqlite_schema WHERE name = 'runs'
    UNION ALL SELECT 3 FROM sqlite_schema WHERE name = 'verify_runs'
    UNION ALL SELECT 4 FROM pragma_table_info('runs') WHERE name = 'pid_ns'
    UNION ALL SELECT 5 FROM pragma_table_info('workers') WHERE name = 'returned_by'
    UNION ALL SELECT 6 FROM pragma_table_info('tasks') WHERE name = 'open_needs'
    UNION ALL SELECT 7 FROM pragma_table_info('workstreams') WHERE name = 'is_due'
    UNION ALL SELECT 8 FROM sqlite_schema WHERE name = 'review_comments'
    UNION ALL SELECT 9 FROM sqlite_schema WHERE name = 'machines'
    UNION ALL SELECT 10 FROM pragma_table_info('windows') WHERE name = 'offer'
    UNION ALL SELECT 11 FROM sqlite_schema WHERE name = 'idx_messages_in_reply_to'
    UNION ALL SELECT 12 FROM pragma_table_info('machines') WHERE name = 'needs_from'
)"""
_REPAIR_META = "INSERT OR IGNORE INTO meta (key, value) VALUES ('schema_version', '1')"


def open_database(path: str) -> Database:
    """Open an existing bus.db; migrate an older version, refuse a newer one.

    Raises Unavailable if the file does not exist or has lost its tables, or if one of our paths is
    not of the right kind.
    """
    refuse_misplaced(os.path.dirname(path))
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        refuse_lost(path)
        raise Unavailable(
            f"{path} does not exist", "git worker init", code="not_initialised"
        ) from None
    if size == 0:  # its creator is at work or was killed: wait for the gate, then create it
        return create_database(path)
    database = Database(path)
    try:
        _bring_forward(database)
    except BaseException:
        database.close()
        raise
    return database


def create_database(path: str) -> Database:
    """Open bus.db, or create it; safe against concurrent creators.

    Raises Unavailable if it has lost its tables.
    """
    refuse_misplaced(os.path.dirname(path))
    with WriteGate(f"{path}-gate"):
        if not os.path.exists(path):
            refuse_lost(path)
        database = Database(path, create=True)
    try:
        _bring_forward(database)
    except BaseException:
        database.close()
        raise
    return database


def refuse_lost(path: str) -> None:
    """Raise Unavailable if bus.db is missing or empty, but has had tables.

    The first transition is logged after the tables were created. Until then an empty file is that
    of a killed creator.
    """
    log = StatePaths(os.path.dirname(path)).transition_log
    if not os.path.isfile(log) or os.path.getsize(log) == 0:
        return
    from gitworker.rules_text import quoted  # only for this error

    raise Unavailable(
        f"the database {path} is lost: it has no tables, but {log} records transitions; restore a"
        " copy of it if you have one",
        f"mv {quoted(log)} {quoted(_unused(f'{log}.lost'))}   # to start with an empty database",
        code="database_lost",
    )


def _unused(stem: str) -> str:
    number = 1
    while os.path.lexists(f"{stem}-{number}"):
        number += 1
    return f"{stem}-{number}"


def schema_version(database: Database) -> int:
    """Return our schema version in this file; 0 for an empty file or a foreign program's.

    If a foreign program has deleted the recorded version, the tables decide.
    """
    recorded = _recorded_version(database)
    if recorded is not None:
        return recorded
    (shown,) = database.execute(_VERSION_OF_TABLES)
    return int(str(shown["version"]))


def _recorded_version(database: Database) -> int | None:
    try:
        recorded = read_meta(database)
    except apsw.Error as error:
        raise translated(error, database.path) from error
    if recorded is None:
        return None
    try:
        return int(recorded)
    except ValueError:
        raise Unavailable(
            f"{database.path} has an invalid schema version: {ascii(recorded)[:40]}",
            "git worker doctor",
            code="database_damaged",
        ) from None


def require_known_protocol(connection: apsw.Connection, path: str) -> str | None:
    """Return our recorded version, if any; raise Unavailable for another bus protocol."""
    return _read_meta(connection, path)[0]


def _require_known_version(connection: apsw.Connection, path: str) -> None:
    recorded = _read_meta(connection, path)[0]
    if str(recorded).isdecimal() and int(str(recorded)) > SCHEMA_VERSION:
        raise _newer(path, f"schema {recorded}", SCHEMA_VERSION)


def read_meta(database: Database) -> str | None:
    """Return our recorded version, if any; note the machine's id of a database in a fleet.

    Notes also the tables, so that a write notices a later migration.
    """
    database.note_schema(_require_known_version)
    recorded, database.fleet_machine = _read_meta(database.connection, database.path)
    return recorded


def _read_meta(connection: apsw.Connection, path: str) -> tuple[str | None, str | None]:
    """Return our recorded version, and the id of this machine in a fleet, if any."""
    try:
        found = dict(connection.execute(_FIND_VERSIONS))
    except apsw.SQLError:  # no table meta yet
        return None, None
    protocol = str(found.get("schema_version", PROTOCOL_VERSION))
    if protocol != PROTOCOL_VERSION:
        raise _newer(path, f"version {ascii(protocol)[:40]} of the bus protocol", PROTOCOL_VERSION)
    return found.get("gitworker_schema"), found.get("fleet_machine")


def _newer(path: str, found: str, known: int | str) -> Unavailable:
    return Unavailable(
        f"{path} was written by a newer gitworker ({found}; this one knows {known})",
        "pip install --upgrade gitworker",
        code="newer_schema",
    )


def _bring_forward(database: Database) -> None:
    recorded = _recorded_version(database)
    if recorded == SCHEMA_VERSION:
        return
    version = schema_version(database)
    if version == SCHEMA_VERSION:
        if not database.is_read_only:
            with database.write():
                database.execute(_REPAIR_META)
                database.execute(_SET_VERSION, {"version": str(SCHEMA_VERSION)})
        return
    if version > SCHEMA_VERSION:
        raise _newer(database.path, f"schema {version}", SCHEMA_VERSION)
    if database.execute("SELECT 1 FROM sqlite_schema LIMIT 1"):
        with database.gate():  # else a slower process might copy the file after the migration
            if schema_version(database) == version:
                _keep_copy(database, version)
    with database.write():
        version = schema_version(database)  # another process may have been faster
        if not database.execute("SELECT 1 FROM sqlite_schema LIMIT 1"):
            refuse_lost(database.path)
            database.execute(_text("newest.sql"))  # the same tables, four times as fast
            load_machines(database)
            version = SCHEMA_VERSION
        elif version == 0:
            _create_schema(database)
            version = 1
        database.writes_to_the_fleet = True  # the guards of a replica; the link reads it again
        for step in range(version + 1, SCHEMA_VERSION + 1):
            database.execute(_text(f"migrations/{step}.sql"))
        database.writes_to_the_fleet = False
        database.execute(_SET_VERSION, {"version": str(SCHEMA_VERSION)})


def _create_schema(database: Database) -> None:
    """Execute schema.sql; a foreign program's tables of the bus protocol stay."""
    database.execute(_text("schema.sql"))
    load_machines(database)


def read_schema() -> str:
    """Return the script that creates an empty database of our version."""
    return _text("newest.sql")


def guard_texts() -> list[str]:
    """Return the scripts that create an empty database of our version, with its guards."""
    return [_text("newest.sql"), FREEZE]


def own_names() -> set[str]:
    """Return the names of our tables, indexes and triggers, in lower case, of all versions.

    The names of the bus protocol, which another program has as well, do not belong to them.
    """
    import re  # only for an adoption

    steps = [_text(f"migrations/{step}.sql") for step in range(2, SCHEMA_VERSION + 1)]
    texts = "\n".join([*guard_texts(), _text("schema.sql"), *steps])
    created = r"CREATE (?:UNIQUE )?(?:TABLE|INDEX|TRIGGER|VIEW) (?:IF NOT EXISTS )?(\w+)"
    of_protocol = r"CREATE (?:TABLE|INDEX) IF NOT EXISTS (\w+)"
    names = set(re.findall(created, texts)) - set(re.findall(of_protocol, _text("schema.sql")))
    return {name.lower() for name in names}


def _text(name: str) -> str:
    with open(f"{_HERE}/{name}", encoding="utf-8") as file:
        return file.read()


def load_machines(database: Database) -> None:
    """Load the machines' tables into the database, then forbid changes to them."""
    from gitworker.states.engine import legal_rows  # the enums cost 5 ms, needed once
    from gitworker.states.machines import MACHINES

    for machine in MACHINES.values():
        for name, origin, event, target in legal_rows(machine):
            database.execute(
                "INSERT INTO legal_transitions (machine, from_state, event, to_state)"
                " VALUES (:machine, :origin, :event, :target)",
                {"machine": name, "origin": origin, "event": event, "target": target},
            )
    database.execute(FREEZE)


def _keep_copy(database: Database, version: int) -> None:
    """Copy the file before the migration changes it.

    Older copies stay, since an older file may have been restored and used since. One that is the
    same, of a killed migration, is enough.
    """
    from filecmp import cmp  # only before a migration

    path = stem = f"{database.path}.before-schema-{SCHEMA_VERSION}-from-{version}"
    older = []
    while os.path.lexists(path):
        older.append(path)
        path = f"{stem}.{len(older) + 1}"
    database.backup(path)
    if any(cmp(one, path, shallow=False) for one in older):
        os.unlink(path)
