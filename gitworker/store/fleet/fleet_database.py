"""The store of a machine in a fleet: reads from the replica, writes by way of the link.

A write transaction first lets the link bring the replica up to date and take the fleet's lock. It
runs on the replica, where its changes are recorded, and is rolled back. The link then writes the
changes to PostgreSQL and to the replica. So a transaction costs two round trips, however many
queries it has, and no writer of this machine waits for the network with bus.db locked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.errors import BUSY, UNREACHABLE, Conflict, Unavailable
from gitworker.store.fleet.changes import INSERT, Recording, divided, to_json
from gitworker.store.fleet.link_client import WAIT_S, LinkClient
from gitworker.store.fleet.rules_tables import is_shared
from gitworker.store.sqlite.database import Database, WriteTransaction
from gitworker.store.sqlite.migrate import read_meta
from gitworker.store.sqlite.queries import query_text

if TYPE_CHECKING:
    from gitworker.store.api import Store, Value
    from gitworker.store.fleet.changes import RowChange

# The tables whose numbers are never given twice, the last number of one, and a new one.
_NUMBERED = "SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'"
_FIND_NUMBER = "SELECT seq FROM sqlite_sequence WHERE name = :name"
_ADD_NUMBER = "INSERT INTO sqlite_sequence (name, seq) VALUES (:name, 0)"
_KEEP_NUMBER = "UPDATE sqlite_sequence SET seq = MAX(seq, :number) WHERE name = :name"
_CHANGES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


class FleetDatabase(Database):
    """A replica whose shared tables are written by way of the link."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.writes_to_the_fleet = True
        read_meta(self)
        self.link = LinkClient(os.path.dirname(path))
        self.waits = False

    def wait_for_the_fleet(self) -> None:
        """Let writes wait for the fleet as long as it cannot be reached."""
        self.waits = True

    def close(self) -> None:
        """Close the connections."""
        self.link.close()
        super().close()

    def write(self, *, durable: bool = True) -> FleetTransaction:
        """Give one write transaction of the fleet, or of this machine if it shares nothing.

        If `durable`, it is on the server's disk, or on ours, when it ends.
        """
        return FleetTransaction(self, durable)

    def write_own(self, *, durable: bool = True) -> WriteTransaction:
        """Give a write transaction that refuses to change what all machines share."""
        return OwnTransaction(self, durable)

    def write_one(self, query: str, *, durable: bool = True, **values: Value) -> int:
        """Execute one named statement as a transaction of its own; return how many rows changed."""
        if not is_shared(changed_table(query_text(query))):
            return super().write_one(query, durable=durable, **values)
        with self.write(durable=durable) as writer:
            return writer.run(query, **values)


class OwnTransaction(WriteTransaction):
    """A transaction of this machine alone; the guards of the replica watch it."""

    __slots__ = ()

    def __enter__(self) -> Database:
        """Take the gate and begin."""
        found = super().__enter__()
        found.writes_to_the_fleet = False
        return found

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Commit or roll back."""
        self.database.writes_to_the_fleet = True
        super().__exit__(kind)


class FleetTransaction(WriteTransaction):
    """A transaction on the replica that the link repeats, for the fleet and then here."""

    __slots__ = ("_offline", "_recording", "fleet")

    def __init__(self, database: FleetDatabase, durable: bool) -> None:
        super().__init__(database, durable)
        self.fleet = database
        self._offline: Unavailable | None = None
        self._recording: Recording | None = None

    def __enter__(self) -> Database:
        """Take the fleet's lock, then the gate, and begin.

        Without a connection the transaction may change what belongs to this machine alone.
        """
        self._begin()
        try:
            super().__enter__()
            self.fleet.execute("SAVEPOINT fleet")
            self._recording = Recording(self.fleet)
        except BaseException:
            self.fleet.link.cancel()
            raise
        return self.fleet

    def _begin(self) -> None:
        """Take the fleet's lock, or note that the fleet cannot be reached."""
        while True:
            try:
                return self.fleet.link.begin()
            except Unavailable as error:
                if error.code != UNREACHABLE:
                    raise
                if not self.fleet.waits:
                    self._offline = error
                    return None
            except Conflict as error:  # a machine that was cut off has the lock for a while
                if error.code != BUSY or not self.fleet.waits:
                    raise
            clock.sleep(WAIT_S)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Send the changes to the link; commit here if nothing is shared, roll back otherwise."""
        recording = self._recording
        assert recording is not None
        try:
            shared, own = divided(recording.changes()) if kind is None else ([], [])
        finally:
            recording.close()
        if kind is None and not shared:
            super().__exit__(None)
            if not self._offline:
                self.fleet.link.cancel()
            return
        if kind is None and reserve_numbers(self.fleet, own):
            super().__exit__(None)
        else:
            super().__exit__(_RolledBack)
        if kind is not None:
            if not self._offline:
                self.fleet.link.cancel()
            return
        if self._offline is not None:
            raise self._offline
        self.fleet.link.commit(
            to_json(shared), to_json(own), durable=self._durable, waits=self.fleet.waits
        )


def reserve_numbers(database: Database, own: list[RowChange]) -> bool:
    """Roll back to the beginning, but keep the numbers of new rows of the machine's own tables.

    Another command may number a row before the link has repeated ours. Returns whether there are
    such numbers; they are committed with the transaction.
    """
    inserted = [one for one in own if one.kind == INSERT]
    if not inserted:
        return False
    numbered = {str(row["name"]) for row in database.execute(_NUMBERED)}
    last: dict[str, int] = {}
    for one in inserted:
        if one.table in numbered:
            last[one.table] = max(last.get(one.table, 0), *(int(n or 0) for n in one.key.values()))
    if not last:
        return False
    database.execute("ROLLBACK TO fleet")
    for table, number in last.items():
        values: dict[str, Value] = {"name": table, "number": number}
        if not database.execute(_FIND_NUMBER, values):
            database.execute(_ADD_NUMBER, values)
        database.execute(_KEEP_NUMBER, values)
    return True


class _RolledBack(Exception):
    """The transaction is rolled back, without an error."""


def ask_link(store: Store) -> dict[str, Any]:
    """Bring the replica up to date; return the link's state. Raises Unavailable if it cannot."""
    assert isinstance(store, FleetDatabase)
    return store.link.sync()


def ask_rights(store: Store) -> dict[str, Any]:
    """Return our role on the server, the tables that it may not change, and the hint that helps."""
    assert isinstance(store, FleetDatabase)
    return store.link.rights()


def synchronised(database: Database) -> str:
    """Bring the replica up to date; return a note for people if the fleet cannot be reached."""
    if not isinstance(database, FleetDatabase):
        return ""
    try:
        database.link.sync()
    except Unavailable as error:
        return f"{error.message}; this is what the machine knew last"
    return ""


def changed_table(sql: str) -> str:
    """Return the table that a statement changes; empty for another statement."""
    plain = "\n".join(line.partition("--")[0] for line in sql.splitlines())
    words = plain.replace("(", " ").split()
    for index, word in enumerate(words):
        if word.upper() in _CHANGES:
            rest = [one for one in words[index + 1 :] if one.upper() not in _NOISE]
            return rest[0] if rest else ""
    return ""


_NOISE = frozenset({"OR", "IGNORE", "REPLACE", "INTO", "FROM", "ABORT", "ROLLBACK", "FAIL"})
