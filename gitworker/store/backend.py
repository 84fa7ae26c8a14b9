"""Access to the backend of the store; only this module knows which backend it is.

A location is the path of bus.db. This module also gives access to features of this backend only:
the full-text index of messages, and the triggers that guard states and logs.
"""

from __future__ import annotations

import os

from gitworker.store.sqlite.migrate import create_database, open_database

TYPE_CHECKING = False  # on the hot path: `typing` costs 8 ms
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.api import SearchIndex, Store


def open_store(location: str) -> Store:
    """Open an existing store; migrate an older one, refuse a newer one.

    Raises Unavailable if it does not exist or cannot be used.
    """
    return open_database(location)


def create_store(location: str) -> Store:
    """Open a store, or create it; safe against concurrent creators."""
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


def expected_guards() -> dict[str, str]:
    """Return the texts of the triggers that guard states and logs, by name."""
    from gitworker.store.sqlite import guards  # only for fsck

    return guards.expected_guards()


def restore_guards(store: Store, names: list[str]) -> None:
    """Create missing or changed guards again."""
    from gitworker.store.sqlite import guards

    guards.restore_guards(store, names)


def restate(store: Store, machine: str, entity: str, *, state: str, version: int) -> None:
    """Set an entity's state to the one of its last transition, past the guards; for fsck only."""
    from gitworker.store.sqlite import guards

    guards.reset_state(store, machine, entity, state=state, version=version)
