"""The triggers that guard states and the log: the expected ones, and the repair of missing ones.

A program that opens the database itself can drop them. Only `fsck --repair` uses this module.
"""

from collections.abc import Mapping
from functools import cache

import apsw

from gitworker.store.api import Store
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import guard_texts

_RESTATE = {
    "worker": (
        "workers_update",
        "UPDATE workers SET state = :state, version = :version WHERE worker_id = :entity",
    ),
    "task": (
        "tasks_update",
        "UPDATE tasks SET status = :state, version = :version WHERE id = :entity",
    ),
}
_TRIGGERS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"


@cache
def expected_guards() -> Mapping[str, str]:
    """Return every trigger of a database of our version, by name."""
    connection = apsw.Connection(":memory:")
    try:
        for text in guard_texts():
            connection.execute(text)
        return {str(name): str(sql) for name, sql in connection.execute(_TRIGGERS)}
    finally:
        connection.close()


def restore_guards(store: Store, names: list[str]) -> None:
    """Create these triggers again, in one transaction."""
    expected = expected_guards()
    assert isinstance(store, Database)
    with store.write():
        for name in names:
            store.execute(f'DROP TRIGGER IF EXISTS "{name}"')
            store.execute(expected[name])


def reset_state(store: Store, machine: str, entity: str, *, state: str, version: int) -> None:
    """Set a row's state from the transition log; its guard is dropped and created again."""
    guard, update = _RESTATE[machine]
    assert isinstance(store, Database)
    with store.write():
        store.execute(f'DROP TRIGGER IF EXISTS "{guard}"')
        store.execute(update, {"state": state, "version": version, "entity": entity})
        store.execute(expected_guards()[guard])
