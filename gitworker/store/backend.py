"""Access to the backend of the store; only this module knows which backend it is.

A location is the path of bus.db, or `postgresql://…#schema`. This module also gives access to the
full-text index of messages, and to the triggers that guard states and logs.
"""

from __future__ import annotations

import os

from gitworker.store.sqlite.migrate import create_database, open_database

POSTGRES = ("postgresql://", "postgres://")
TYPE_CHECKING = False  # on the hot path: `typing` costs 8 ms
if TYPE_CHECKING:
    from typing import TypeGuard

    from gitworker.paths import StatePaths
    from gitworker.store.api import SearchIndex, Store
    from gitworker.store.postgres.database import PostgresDatabase


def open_store(location: str) -> Store:
    """Open an existing store; migrate an older one, refuse a newer one.

    Raises Unavailable if it does not exist or cannot be used.
    """
    if location.startswith(POSTGRES):
        from gitworker.store.postgres.opening import open_postgres  # 100 ms, only in a fleet

        return open_postgres(location)
    return open_database(location)


def create_store(location: str) -> Store:
    """Open a store, or create it; safe against concurrent creators."""
    if location.startswith(POSTGRES):
        from gitworker.store.postgres.opening import create_postgres

        return create_postgres(location)
    return create_database(location)


def is_bus_directory(place: str) -> bool:
    """Return whether a place is a directory, not a link, that holds a bus of another program."""
    try:
        return not os.path.islink(place) and os.stat(f"{place}/bus.db").st_size > 0
    except OSError:
        return False


def adopt_store(paths: StatePaths, directory: str) -> bool:
    """Make another program's bus ours if there is no store yet; return whether that happened."""
    if not is_bus_directory(directory) and not is_bus_directory(paths.adopted):
        return False
    from gitworker.store.sqlite.adopt_bus import adopt_bus  # only for a new repository

    return adopt_bus(paths, directory)


def open_search_index(location: str) -> SearchIndex:
    """Open or create the full-text index of messages; raise Unavailable if that is impossible."""
    from gitworker.store.sqlite import search_index  # only for a search

    return search_index.SqliteSearchIndex(location)


def expected_guards(store: Store) -> dict[str, str]:
    """Return the texts of the triggers that guard states and logs, by name."""
    if _is_on_postgres(store):
        from gitworker.store.postgres import guards as postgres_guards

        return postgres_guards.expected_guards()
    from gitworker.store.sqlite import guards  # only for fsck

    return guards.expected_guards()


def restore_guards(store: Store, names: list[str]) -> None:
    """Create missing or changed guards again."""
    if _is_on_postgres(store):
        from gitworker.store.postgres import guards as postgres_guards

        return postgres_guards.restore_guards(store, names)
    from gitworker.store.sqlite import guards

    return guards.restore_guards(store, names)


def restate(store: Store, machine: str, entity: str, *, state: str, version: int) -> None:
    """Set an entity's state to the one of its last transition, past the guards; for fsck only."""
    if _is_on_postgres(store):
        from gitworker.store.postgres import guards as postgres_guards

        return postgres_guards.reset_state(store, machine, entity, state=state, version=version)
    from gitworker.store.sqlite import guards

    return guards.reset_state(store, machine, entity, state=state, version=version)


def _is_on_postgres(store: Store) -> TypeGuard[PostgresDatabase]:
    from gitworker.store.sqlite.database import Database

    return not isinstance(store, Database)
