"""A store joins a fleet and leaves it."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

from gitworker.crashpoint import crash_point
from gitworker.store.fleet.changes import column_names
from gitworker.store.fleet.machines import forget_machines, hold_open_tasks
from gitworker.store.fleet.replica import (
    become_replica,
    copy_rows,
    end_replica,
    fill_shared_tables,
    find_location,
    find_position,
    note_joining,
    shared_tables,
    unguarded,
)
from gitworker.store.fleet.rules_tables import OWN_COLUMNS, is_shared
from gitworker.store.sqlite.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.store.api import Store
    from gitworker.store.postgres.membership import NewMachine
    from gitworker.store.postgres.server import FleetServer


def location_of(store: Store) -> str:
    """Return the location of the fleet; empty without one."""
    return find_location(database_of(store))


def position_of(store: Store) -> int:
    """Return the position of the last entry of the fleet's log in this replica."""
    return find_position(database_of(store))


def keep_copy(store: Store) -> str:
    """Write a copy of bus.db as it is before it joins; return its path."""
    path = copy_path(store)
    if os.path.exists(path):
        os.unlink(path)
    store.backup(path)
    return path


def copy_path(store: Store) -> str:
    """Return the path of the copy of bus.db as it was before it joined."""
    return f"{database_of(store).path}.before-fleet"


def database_of(store: Store) -> Database:
    """Return the store as bus.db, which it is."""
    assert isinstance(store, Database)
    return store


def enter_fleet(
    store: Store,
    server: FleetServer,
    machine: NewMachine,
    *,
    location: str,
    require_fit: Callable[[dict[str, bool]], None],
    require_known: Callable[[dict[str, int]], None],
    move_payloads: Callable[[list[str], bool], None],
) -> bool:
    """Add this machine to the fleet; return whether it is the first, whose rows are moved there.

    `require_fit` gets the other machines, and whether each has a lease, and raises if this one may
    not join. `require_known` gets the versions of the fleet's tasks if others have worked since
    this store joined and was killed; it raises if this one has newer open work. `move_payloads`
    gets the names of all large payloads, and whether they are to be sent.
    """
    from gitworker.store.postgres import membership

    database = database_of(store)
    with database.write():
        mark = note_joining(database)
    with database.write():
        membership.begin_schema(server)
        present = membership.present_machines(server)
        joined_at = membership.find_join(server, machine.id, mark)
        if joined_at is None:
            require_fit(present)
            is_first = not present
        else:  # this join was killed after its commit there
            present.pop(machine.id, None)
            is_first = not present and not membership.has_work_since(server, joined_at)
            if not is_first:
                require_known(membership.read_versions(server))
        if is_first:
            _upload(database, server, machine.id)
        membership.add_machine(server, machine, mark)
        columns = {table: column_names(database, table) for table in shared_tables(database)}
        found = membership.read_content(server, columns)
        place = columns["messages"].index("payload_ref")
        refs = [str(row[place]) for row in found.rows["messages"] if row[place]]
        move_payloads(refs, is_first)
        crash_point("fleet-join-before-commit")
        membership.commit(server)
        crash_point("fleet-join-after-commit")
        with unguarded(database):
            fill_shared_tables(database, columns, found)
        become_replica(database, machine.id, location)
    return is_first


def _upload(database: Database, server: FleetServer, machine: str) -> None:
    """Write all shared rows to the server."""
    from gitworker.store.postgres import membership

    for table in shared_tables(database):
        columns, rows = copy_rows(database, table)
        if table == "workers":
            rows = [_shared_worker(columns, row, machine) for row in rows]
        membership.write_table(server, table, columns, rows)
    numbers = database.connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
    membership.set_numbers(
        server, [(str(name), int(str(last))) for name, last in numbers if is_shared(str(name))]
    )


def _shared_worker(columns: list[str], row: tuple[Any, ...], machine: str) -> tuple[Any, ...]:
    """Return the row of a worker with its machine, without the place of its worktree there."""
    values = dict(zip(columns, row, strict=True))
    if values["worktree"] is not None:
        values["machine"] = machine
    return tuple((values | dict.fromkeys(OWN_COLUMNS["workers"])).values())


def end_membership(store: Store, *, others_stay: bool) -> None:
    """Make the replica a store of its own again; hold its open tasks if others go on with them."""
    own = Database(database_of(store).path)
    with closing(own), unguarded(own), own.write():
        end_replica(own)
        if others_stay:
            hold_open_tasks(own)
        forget_machines(own)
        crash_point("fleet-leave-before-end")
    crash_point("fleet-leave-after-end")
