"""A machine that was away for longer than the log is kept."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from gitworker import clock
from gitworker.link.connection import FleetConnection
from gitworker.paths import StatePaths
from gitworker.store.fleet.machines import record_foreign_heartbeat
from gitworker.store.heartbeats import record_heartbeat
from gitworker.store.messages.mailbox import NewMessage, acknowledge_message, publish_message
from gitworker.store.sqlite.database import Database
from gitworker.store.workers import add_worker, all_workers, set_worktree
from tests.store.machines import Machine, fresh_location, near_links, psql

OLD = "UPDATE fleet_log SET written_at = written_at - interval '20 minutes'"
AWAY = "UPDATE machines SET lease_until_ms = 0 WHERE name = 'two'"
SEEN = "SELECT ts_ms FROM heartbeats WHERE agent_id = 'auth'"
LONG_MS = 1_000_000


@pytest.fixture
def location(server: str) -> str:
    """The location of the fleet."""
    return fresh_location(server)


@pytest.fixture
def machines(tmp_path: Path, location: str) -> Iterator[list[Machine]]:
    """Two machines of a fleet, without processes."""
    made = [Machine(tmp_path / name) for name in ("one", "two")]
    with near_links():
        for machine in made:
            machine.join(location, machine.root.name)
        yield made


def connected(machine: Machine) -> "closing[FleetConnection]":
    """Connect to the fleet as the link does."""
    return closing(FleetConnection(StatePaths(str(machine.root))))


def prune_while_away(machines: list[Machine], location: str) -> None:
    """Let the second machine miss a new worker, whose entry is deleted from the log."""
    one, two = machines
    with connected(two) as link:
        link.report()
    with one.open() as store, store.write() as writer:
        add_worker(writer, "late", 1)
    with psql(location) as connection:
        connection.execute(AWAY)
    with connected(one) as link:
        link.report()
        link.report()
        with psql(location) as connection:
            connection.execute(OLD)
        link.prune()
    with psql(location) as connection:
        found = connection.execute("SELECT COUNT(*) FROM fleet_log WHERE shared LIKE '%late%'")
        assert found.fetchone() == (0,)


def test_what_was_missed_is_read(machines: list[Machine], location: str) -> None:
    """The last report of the machine itself, which stays in the log, hides no gap behind it."""
    prune_while_away(machines, location)
    machines[1].sync()
    assert machines[1].dump() == machines[0].dump()


def test_the_first_command_may_write(machines: list[Machine], location: str) -> None:
    """All rows are read again with the fleet's lock, which the command keeps."""
    prune_while_away(machines, location)
    with machines[1].open() as store:
        with store.write() as writer:
            assert [one.worker_id for one in all_workers(writer)] == ["late"]
            add_worker(writer, "docs", 1)
        assert len(all_workers(store)) == 2
    machines[0].sync()
    assert machines[1].dump() == machines[0].dump()


def test_the_signs_of_life_of_others_are_read(machines: list[Machine], location: str) -> None:
    """A worker that lives elsewhere is not taken for one that was silent meanwhile."""
    one, two = machines
    with one.open() as store, store.write() as writer:
        add_worker(writer, "auth", 1)
        set_worktree(writer, "auth", "/w", admin_dir="/a")
        record_heartbeat(writer, "auth", status="working", task=None, progress=None)
    two.sync()
    with two.open() as store, store.write_own() as writer:
        record_foreign_heartbeat(
            writer, "auth", age_ms=LONG_MS, status="working", task=None, progress=None
        )
    prune_while_away(machines, location)
    two.sync()
    ((seen_ms,),) = two.query(SEEN)
    assert clock.now_ms() - seen_ms < LONG_MS / 2


def test_a_server_that_was_restored(machines: list[Machine], location: str) -> None:
    """A machine takes over what the server has, and keeps a copy of what it had itself."""
    one, _ = machines
    with one.open() as store:
        publish_message(store, NewMessage("lost", "x", ts_ms=1, sender="hq"))
        acknowledge_message(store, "auth", 1, now=1)
    with psql(location) as connection:
        connection.execute("SET gitworker.writer = 'on'")
        connection.execute("DELETE FROM messages")
        connection.execute("DELETE FROM fleet_log WHERE shared LIKE '%lost%'")
        connection.execute("UPDATE row_numbers SET last = 0 WHERE name = 'messages'")
    one.sync()
    assert one.query("SELECT id FROM messages") == []
    assert one.query("SELECT last_acked_seq FROM cursors") == [(0,)]
    with closing(apsw.Connection(f"{one.path}.before-restart-1")) as kept:
        assert kept.execute("SELECT id FROM messages").fetchall() == [("lost",)]


def test_a_server_that_lost_its_last_entries(machines: list[Machine], location: str) -> None:
    """After a restart of the server all rows are read again: positions may have new entries."""
    one, two = machines
    with one.open() as store, store.write() as writer:
        add_worker(writer, "lost", 1)
    two.sync()
    with psql(location) as connection:  # what a crash does to entries that were not synced
        connection.execute("SET gitworker.writer = 'on'")
        connection.execute("DELETE FROM workers")
        connection.execute("DELETE FROM fleet_log WHERE shared LIKE '%lost%'")
    with closing(Database(one.path)) as replica, replica.write():
        replica.execute("UPDATE meta SET value = '1' WHERE key = 'fleet_server'")
    with one.open() as store, store.write() as writer:
        add_worker(writer, "new", 1)
    with closing(Database(two.path)) as replica, replica.write():
        replica.execute("UPDATE meta SET value = '1' WHERE key = 'fleet_server'")
    two.sync()
    for machine in machines:
        assert machine.query("SELECT worker_id FROM workers") == [("new",)]
