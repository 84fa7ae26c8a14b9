"""Access to the backend of the store; only this module knows which backend it is.

A location is the path of bus.db. In a fleet, bus.db is a replica that is written by way of the
link. This module also gives access to the full-text index of messages, and to the triggers that
guard states and logs.
"""

from __future__ import annotations

import os

from gitworker.paths import is_bus_directory
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import create_database, open_database, refuse_lost

TYPE_CHECKING = False  # on the hot path: `typing` costs 8 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.paths import StatePaths
    from gitworker.store.api import SearchIndex, Store


def open_store(location: str) -> Store:
    """Open an existing store; migrate an older one, refuse a newer one.

    Raises Unavailable if it does not exist or cannot be used.
    """
    return _by_way_of_the_link(open_database(location))


def open_hot_store(location: str) -> Store:
    """Open an existing store for a hot verb, which never waits for a network.

    In a fleet it refuses to change what all machines share (code `needs_link`).
    """
    return open_database(location)


def serve_fleet(store: Store) -> None:
    """In a fleet, start the link unless it runs; wait for nothing."""
    if isinstance(store, Database) and store.fleet_machine is not None:
        from gitworker.store.fleet.link_lock import start_link  # a socket would cost 15 ms

        start_link(os.path.dirname(store.path))


def bring_up_to_date(store: Store) -> str:
    """In a fleet, read what other machines have written; return a note if that is impossible."""
    if not isinstance(store, Database) or store.fleet_machine is None or store.is_read_only:
        return ""
    from gitworker.store.fleet.fleet_database import synchronised

    return synchronised(store)


def create_store(location: str) -> Store:
    """Open a store, or create it; safe against concurrent creators."""
    return _by_way_of_the_link(create_database(location))


def _by_way_of_the_link(database: Database) -> Store:
    if database.fleet_machine is None or database.is_read_only:
        return database
    from gitworker.store.fleet.fleet_database import FleetDatabase  # only in a fleet

    database.close()
    return FleetDatabase(database.path)


def adopt_store(paths: StatePaths, directory: str) -> bool:
    """Make another program's bus ours if there is no store yet; return whether that happened.

    Raises Unavailable if there was a store.
    """
    refuse_lost(paths.database)
    if not is_bus_directory(directory) and not is_bus_directory(paths.adopted):
        return False
    from gitworker.store.sqlite.adopt_bus import adopt_bus  # only for a new repository

    return adopt_bus(paths, directory)


def open_search_index(location: str) -> SearchIndex:
    """Open or create the full-text index of messages; raise Unavailable if that is impossible."""
    from gitworker.store.sqlite import search_index  # only for a search

    return search_index.SqliteSearchIndex(location)


def expected_guards(store: Store) -> Mapping[str, str]:
    """Return the texts of the triggers that guard states and logs, by name."""
    from gitworker.store.sqlite import guards  # only for fsck

    return guards.expected_guards()


def restore_guards(store: Store, names: list[str]) -> None:
    """Create missing or changed guards again."""
    from gitworker.store.sqlite import guards

    return guards.restore_guards(store, names)


def restate(store: Store, machine: str, entity: str, *, state: str, version: int) -> None:
    """Set an entity's state to the one of its last transition, past the guards; for fsck only."""
    from gitworker.store.sqlite import guards

    return guards.reset_state(store, machine, entity, state=state, version=version)
