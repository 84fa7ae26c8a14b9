"""The triggers that guard states and log: which there should be, and putting back what is gone.

A program that opens the file with rights of its own can drop them. Only `fsck --repair` comes here.
"""

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


def expected_guards() -> dict[str, str]:
    """Return every trigger that a bus of our version has, by name."""
    connection = apsw.Connection(":memory:")
    try:
        for text in guard_texts():
            connection.execute(text)
        return {str(name): str(sql) for name, sql in connection.execute(_TRIGGERS)}
    finally:
        connection.close()


def restore_guards(store: Store, names: list[str]) -> None:
    """Make these triggers again as they should be, in one transaction."""
    expected = expected_guards()
    assert isinstance(store, Database)
    with store.write():
        for name in names:
            store.execute(f'DROP TRIGGER IF EXISTS "{name}"')
            store.execute(expected[name])


def restate(store: Store, machine: str, entity: str, *, state: str, version: int) -> None:
    """Set a row's state to what the log of transitions says, past the guard, which stays."""
    guard, update = _RESTATE[machine]
    assert isinstance(store, Database)
    with store.write():
        store.execute(f'DROP TRIGGER IF EXISTS "{guard}"')
        store.execute(update, {"state": state, "version": version, "entity": entity})
        store.execute(expected_guards()[guard])
