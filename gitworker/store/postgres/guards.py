"""The triggers that guard states and the log, as `store/sqlite/guards.py` on SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.store.postgres.schema import guard_statements

if TYPE_CHECKING:
    from gitworker.store.postgres.database import PostgresDatabase

_RESTATE = {
    "worker": ("workers", "state", "worker_id"),
    "task": ("tasks", "status", "id"),
}


def expected_guards() -> dict[str, str]:
    """Return the body of each trigger's function, by name."""
    return {name: function.split("$$")[1] for name, (function, _) in guard_statements().items()}


def restore_guards(database: PostgresDatabase, names: list[str]) -> None:
    """Create these triggers again, in one transaction."""
    expected = guard_statements()
    with database.write():
        for name in names:
            function, trigger = expected[name]
            database.execute(function)
            database.execute(f"DROP TRIGGER IF EXISTS {name} ON {_table(trigger)}")
            database.execute(trigger)


def reset_state(
    database: PostgresDatabase, machine: str, entity: str, *, state: str, version: int
) -> None:
    """Set a row's state from the transition log, while its guard is off."""
    table, column, key = _RESTATE[machine]
    with database.write():
        database.execute(f"ALTER TABLE {table} DISABLE TRIGGER {table}_update")
        database.execute(
            f"UPDATE {table} SET {column} = %(state)s, version = %(version)s"
            f" WHERE {key} = %(entity)s",
            {"state": state, "version": version, "entity": entity},
        )
        database.execute(f"ALTER TABLE {table} ENABLE TRIGGER {table}_update")


def _table(trigger: str) -> str:
    """Return the table of a CREATE TRIGGER statement."""
    return trigger.partition(" ON ")[2].split(" ")[0]
