"""The scripts that make a repository's schema: the shared tables of SQLite's, and the log."""

from __future__ import annotations

import os

import apsw

from gitworker.store.fleet.rules_tables import is_shared
from gitworker.store.postgres.rules_dialect import Guard, guards_of, log_triggers_of, schema_of
from gitworker.store.sqlite.migrate import guard_texts, read_schema

LEGAL = "legal_transitions"
# Only the server looks for payloads without a message; a machine looks at its files.
PAYLOAD_INDEX = (
    "CREATE INDEX idx_messages_payload ON messages (payload_ref) WHERE payload_ref IS NOT NULL"
)
_HERE = os.path.dirname(__file__)


def tables_script() -> str:
    """Return the script that makes functions, tables, indexes and the log, without rows."""
    with open(f"{_HERE}/fleet_log.sql", encoding="utf-8") as file:
        log = file.read()
    parts = [log, *schema_of(read_schema(), _is_wanted), PAYLOAD_INDEX]
    return ";\n".join(part.strip().removesuffix(";") for part in parts)


def guards_script() -> str:
    """Return the script that makes all triggers."""
    return ";\n".join(text for guard in guard_statements().values() for text in guard if text)


def guard_statements() -> dict[str, Guard]:
    """Return the triggers of the shared tables by name."""
    guards = guards_of("\n".join(guard_texts()), _is_wanted)
    return guards | log_triggers_of(shared_keys())


def _is_wanted(table: str) -> bool:
    return is_shared(table) or table == LEGAL  # for the guard of `transitions`


def shared_keys() -> dict[str, list[str]]:
    """Return the columns of each shared table's primary key, as SQLite sees them."""
    with apsw.Connection(":memory:") as connection:
        connection.execute(read_schema())
        rows = connection.execute(
            "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c"
            " WHERE t.type = 'table' AND c.pk > 0 ORDER BY t.name, c.pk"
        ).fetchall()
    found: dict[str, list[str]] = {}
    for table, column in rows:
        if is_shared(str(table)):
            found.setdefault(str(table), []).append(str(column))
    return found
