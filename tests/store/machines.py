"""Machines of a fleet for the tests of the store, with the link in this process or in its own."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psycopg

from gitworker.app import DIRECTORIES
from gitworker.fleet.join import Joined, join
from gitworker.fleet.leave import Left, leave
from gitworker.link.connection import FleetConnection
from gitworker.model.ids import HQ
from gitworker.paths import StatePaths
from gitworker.processes.jobs import BACKGROUND
from gitworker.session import Session
from gitworker.store.backend import create_store, open_store
from gitworker.store.fleet import fleet_database
from gitworker.store.fleet.changes import column_names
from gitworker.store.fleet.fleet_database import FleetDatabase
from gitworker.store.fleet.link_client import SOCKET, LinkClient, connect_link
from gitworker.store.fleet.replica import find_position, shared_tables
from gitworker.store.fleet.rules_tables import OWN_COLUMNS
from gitworker.store.sqlite.database import Database
from tests.store.support import wait_until

NUMBERS = count(1)
Rows = list[tuple[Any, ...]]


class NearLink:
    """Does the link's work for one store in its own process; the store's calls are LinkClient's.

    It is connected during a transaction only, since tests leave many stores open.
    """

    def __init__(self, root: str) -> None:
        self._paths = StatePaths(root)
        self.path = self._paths.database
        self._connection: FleetConnection | None = None

    def begin(self) -> None:
        """Take the fleet's lock and bring the replica up to date."""
        self.close()
        self._connection = FleetConnection(self._paths)
        try:
            self._connection.begin()
        except BaseException:
            self.close()
            raise

    def commit(self, shared: str, own: str, *, durable: bool, waits: bool = False) -> int:
        """Write changes to the log and the replica; return the position."""
        del waits
        assert self._connection is not None
        try:
            return self._connection.commit(shared, own, durable=durable)
        finally:
            self.close()

    def cancel(self) -> None:
        """Release the lock."""
        self.close()

    def sync(self) -> dict[str, Any]:
        """Bring the replica up to date; return the link's state."""
        with closing(FleetConnection(self._paths)) as connection:
            connection.catch_up(fresh=True)
            return connection.state()

    def rights(self) -> dict[str, Any]:
        """Return our role on the server, the tables that it may not change, and what helps."""
        with closing(FleetConnection(self._paths)) as connection:
            return connection.rights()

    def close(self) -> None:
        """Close the connection, which gives up what was begun."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def near_links() -> Iterator[None]:
    """Let the stores of a fleet that are opened meanwhile start no process."""
    fleet_database.LinkClient = NearLink  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        fleet_database.LinkClient = LinkClient  # type: ignore[misc]


def session_of(database: Database, actor: str = HQ) -> Session:
    """Return what joining and leaving need of a session."""
    paths = StatePaths(os.path.dirname(database.path))
    return cast("Session", SimpleNamespace(store=database, actor=actor, paths=paths))


def join_store(
    database: Database, location: str, name: str | None = None, *, actor: str = HQ
) -> Joined:
    """Make a store the replica of a machine."""
    return join(session_of(database, actor), location, name=name)


class Machine:
    """The state directory of one machine, with a bus.db and its copies of all tables."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in DIRECTORIES:
            (root / name).mkdir(parents=True, exist_ok=True)
        self.path = str(root / "bus.db")

    def join(self, location: str, name: str | None = None, actor: str = HQ) -> Joined:
        """Join a fleet; the bus.db is created if it does not exist."""
        with self.open_or_create() as database:
            return join_store(database, location, name, actor=actor)

    def leave(self) -> Left:
        """Leave the fleet."""
        with self.open() as database:
            return leave(session_of(database))

    @contextmanager
    def open_or_create(self) -> Iterator[Database]:
        """Open the store, which is created if it does not exist."""
        store = create_store(self.path)
        assert isinstance(store, Database)
        with closing(store):
            yield store

    @contextmanager
    def open(self) -> Iterator[Database]:
        """Open the store as our commands do."""
        store = open_store(self.path)
        assert isinstance(store, Database)
        with closing(store):
            yield store

    @contextmanager
    def fleet(self) -> Iterator[FleetDatabase]:
        """Open the store of a machine that has joined."""
        with self.open() as store:
            assert isinstance(store, FleetDatabase)
            yield store

    def sync(self) -> int:
        """Bring the replica up to date; return its position."""
        with self.fleet() as store:
            store.link.sync()
            return find_position(store)

    def shared_columns(self) -> dict[str, list[str]]:
        """Return the columns that all machines have in common, by table."""
        with closing(Database(self.path)) as database:
            return {
                table: [
                    name
                    for name in column_names(database, table)
                    if name not in OWN_COLUMNS.get(table, ())
                ]
                for table in shared_tables(database)
            }

    def dump(self) -> dict[str, Rows]:
        """Return the rows that all machines have in common, by table."""
        columns = self.shared_columns()
        with closing(Database(self.path)) as database:
            found = {table: _rows(database, table, names) for table, names in columns.items()}
        return {table: rows for table, rows in found.items() if rows}

    def query(self, sql: str) -> Rows:
        """Return rows of the replica as it is."""
        with closing(Database(self.path)) as database:
            return database.connection.execute(sql).fetchall()

    # ------------------------------------------------------------------ the link's process
    def start_link(self, **env: str) -> None:
        """Start the link with these variables, and wait until it answers."""
        subprocess.Popen(
            [sys.executable, *BACKGROUND, "link", str(self.root)], env={**os.environ, **env}
        )
        wait_until(lambda: os.path.exists(self.root / SOCKET), "the link")
        connect_link(str(self.root)).close()

    def link_pid(self) -> int | None:
        """Return the link's process, if it runs."""
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
            except OSError:  # it has ended
                continue
            if b"link" in words and os.fsencode(self.root) in words:
                return int(place.name)
        return None

    def kill_link(self) -> None:
        """Kill the link, and those that start in its place; wait for their end."""

        def is_killed() -> bool:
            pid = self.link_pid()
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
            return pid is None and not self._has_link()

        wait_until(is_killed, "the end of the link")

    def wait_link_ended(self) -> None:
        """Wait until no link runs here."""
        wait_until(lambda: not self._has_link(), "the end of the link")

    def _has_link(self) -> bool:
        """Return whether a link holds its lock; a killed one does so until the kernel is done."""
        with open(self.root / "locks" / "link", "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


def _rows(database: Database, table: str, columns: list[str]) -> Rows:
    found = database.connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
    return sorted(found, key=repr)


def fresh_location(server: str) -> str:
    """Return the location of a schema that does not exist yet."""
    return f"{server}#fleet{os.getpid()}_{next(NUMBERS)}"


@contextmanager
def psql(location: str) -> "Iterator[psycopg.Connection[tuple[Any, ...]]]":
    """Give a connection as another program has it."""
    conninfo, _, schema = location.partition("#")
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(f'SET search_path = "{schema}"'.encode())
        yield connection


def server_rows(location: str, columns: Mapping[str, list[str]]) -> dict[str, Rows]:
    """Return the rows of the tables on the server."""
    with psql(location) as connection:
        found = {
            table: sorted(
                connection.execute(f"SELECT {', '.join(names)} FROM {table}".encode()), key=repr
            )
            for table, names in columns.items()
        }
    return {table: rows for table, rows in found.items() if rows}
