"""The schema of a fleet is migrated once, and each program works with its own version only."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitworker.errors import UNREACHABLE, Unavailable
from gitworker.link.connection import FleetConnection
from gitworker.paths import StatePaths
from gitworker.store.messages.mailbox import NewMessage, publish_message
from gitworker.store.postgres.migrate import bring_forward
from gitworker.store.postgres.migrations import MIGRATIONS, Migration
from gitworker.store.postgres.server import FleetServer
from gitworker.store.sqlite import migrate
from gitworker.store.sqlite.database import Database
from gitworker.store.workers import add_worker, all_workers
from tests.store.machines import Machine, fresh_location, near_links, psql
from tests.store.support import foreign

NEXT = Migration(
    migrate.SCHEMA_VERSION + 1, "ALTER TABLE tasks ADD COLUMN colour TEXT; CREATE TABLE shelves ()"
)
BOTH = (*MIGRATIONS, NEXT)
INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"
GUARDS = (
    "SELECT pg_get_triggerdef(oid), pg_get_functiondef(tgfoid) FROM pg_trigger"
    " WHERE tgrelid IN ('tasks'::regclass, 'task_dependencies'::regclass, 'task_claims'::regclass,"
    " 'claim_epochs'::regclass) ORDER BY 1",
    INDEXES,
)
COLUMNS = (
    "SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns"
    " WHERE table_schema = current_schema() AND table_name = 'machines' ORDER BY 1"
)
MADE_BY_11 = (
    ("task_dependencies_delete", "task_dependencies"), ("tasks_satisfy", "tasks"),
    ("tasks_open_needs", "tasks"), ("claim_epochs_insert", "claim_epochs"),
    ("claim_epochs_update", "claim_epochs"), ("claim_epochs_delete", "claim_epochs"),
)  # fmt: skip
VERSION = "SELECT value FROM meta WHERE key = 'gitworker_schema'"


@pytest.fixture
def location(server: str) -> str:
    """The location of a schema that does not exist yet."""
    return fresh_location(server)


@pytest.fixture
def machine(tmp_path: Path, location: str) -> Iterator[Machine]:
    """The first machine of a fleet."""
    made = Machine(tmp_path / "one")
    with near_links():
        made.join(location, "one")
        yield made
    made.kill_link()


def migrated(location: str) -> None:
    """Let a newer program see the schema."""
    with closing(FleetServer(location, migrations=BOTH)) as newer:
        bring_forward(newer)


def version_of(location: str) -> str:
    """Return the version that the schema has."""
    with psql(location) as connection:
        return str(connection.execute(VERSION).fetchall()[0][0])


def test_the_newest_version_is_that_of_bus_db() -> None:
    """Whoever adds a migration of bus.db adds the one of PostgreSQL."""
    versions = [one.version for one in MIGRATIONS]
    assert versions == list(range(versions[0], migrate.SCHEMA_VERSION + 1))


def test_schema_11_has_the_guards_of_a_new_schema(machine: Machine, location: str) -> None:
    """A schema that is migrated to version 11 has the triggers and indexes of a new one."""
    with closing(FleetServer(location)) as server:
        before = [server.run(text) for text in GUARDS]
        for name, table in MADE_BY_11:
            server.run(f"DROP TRIGGER {name} ON {table}; DROP FUNCTION {name}()")
        server.run("DROP INDEX idx_messages_in_reply_to")
        assert [server.run(text) for text in GUARDS] != before
        server.run(next(one.text for one in MIGRATIONS if one.version == 11))
        assert [server.run(text) for text in GUARDS] == before


def test_schema_12_has_the_columns_of_a_new_schema(machine: Machine, location: str) -> None:
    """A schema that is migrated to version 12 has the columns and indexes of a new one."""
    with closing(FleetServer(location)) as server:
        before = server.run(COLUMNS), server.run(INDEXES)
        server.run("ALTER TABLE machines DROP COLUMN needs_from; DROP INDEX idx_messages_payload")
        assert server.run(COLUMNS) != before[0]
        server.run(next(one.text for one in MIGRATIONS if one.version == 12))
        assert (server.run(COLUMNS), server.run(INDEXES)) == before


def test_one_machine_migrates(machine: Machine, location: str) -> None:
    """Of several machines that see an older schema at once, one migrates it."""
    begin, failures = threading.Barrier(4), list[BaseException]()

    def bring() -> None:
        try:
            begin.wait()
            migrated(location)
        except BaseException as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=bring) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []  # the statements fail if they are repeated
    assert version_of(location) == str(NEXT.version)
    migrated(location)


def test_a_migration_that_fails(machine: Machine, location: str) -> None:
    """Nothing of it stays, and the fleet works on."""
    broken = (*MIGRATIONS, NEXT._replace(text=f"{NEXT.text}; SELECT 1 / 0"))
    with closing(FleetServer(location, migrations=broken)) as newer:
        with pytest.raises(Exception, match="division by zero"):
            bring_forward(newer)
        assert newer.run("SELECT to_regclass('shelves')") == [(None,)]
    with machine.open() as store, store.write() as writer:
        add_worker(writer, "auth", 1)
    assert version_of(location) == str(migrate.SCHEMA_VERSION)


def test_an_older_program_is_refused(machine: Machine, location: str) -> None:
    """Its commands say what helps, write nothing, and read what the machine knew last."""
    with machine.open() as store:
        publish_message(store, NewMessage("a", "x", ts_ms=1, sender="hq"))
        migrated(location)
        for _ in range(2):
            with pytest.raises(Unavailable) as caught, store.write() as writer:
                add_worker(writer, "auth", 1)
            assert f"has version {NEXT.version}; this gitworker knows" in caught.value.message
            assert caught.value.hint == "pip install --upgrade gitworker"
            assert caught.value.code == UNREACHABLE
        assert all_workers(store) == []
        assert [row["id"] for row in store.rows("messages.follow", after=0, limit=9)] == ["a"]
    with psql(location) as connection:
        assert connection.execute("SELECT * FROM workers").fetchall() == []


def test_a_link_that_is_connected_refuses_and_ends(machine: Machine, location: str) -> None:
    """A link that has seen a newer schema ends, since the next one may be of a newer program."""
    connection = FleetConnection(StatePaths(str(machine.root)))
    with closing(connection):
        connection.begin()
        connection.cancel()
        migrated(location)
        with pytest.raises(Unavailable, match="has version"):
            connection.begin()
        assert connection.is_outdated
    machine.start_link()
    machine.wait_link_ended()


def test_a_link_ends_before_a_newer_replica(machine: Machine) -> None:
    """A link does not write to a bus.db that a newer program has migrated."""
    machine.start_link()
    foreign(Path(machine.path), f"UPDATE meta SET value = '{NEXT.version}' WHERE key LIKE 'git%'")
    machine.wait_link_ended()


def test_a_migrated_replica_is_read_again(machine: Machine) -> None:
    """After a migration of bus.db all shared rows are read again, and all guards are there."""
    with machine.open() as store:
        publish_message(store, NewMessage("a", "x", ts_ms=1, sender="hq"))
    guards = "SELECT name, sql FROM sqlite_schema WHERE name LIKE 'fleet_guard%' ORDER BY name"
    before = machine.query(guards)
    with closing(Database(machine.path)) as older:
        older.writes_to_the_fleet = True
        older.execute("UPDATE meta SET value = '7' WHERE key = 'fleet_schema'")
        older.execute("UPDATE messages SET type = 'y'")
        older.execute("DROP TRIGGER fleet_guard_messages_insert")
    machine.sync()
    assert machine.query("SELECT id, type FROM messages") == [("a", "x")]
    assert machine.query(guards) == before


def test_a_replica_is_migrated(tmp_path: Path) -> None:
    """The guards of a replica do not refuse its own migration."""
    path = tmp_path / "bus.db"
    schemas = Path(migrate.__file__).parent
    with closing(Database(str(path), create=True)) as store:
        store.execute((schemas / "schema.sql").read_text())
        migrate.load_machines(store)
        store.execute(
            "INSERT INTO meta VALUES ('gitworker_schema', '1'), ('fleet_machine', 'a');"
            "CREATE TRIGGER fleet_guard_tasks_update BEFORE UPDATE ON tasks BEGIN SELECT"
            " RAISE(ABORT, 'gitworker: fleet') WHERE gitworker_writes_to_the_fleet() IS NOT 1; END"
        )
        store.execute(
            "INSERT INTO tasks (id, title, created_at_ms, status_changed_at_ms)"
            " VALUES ('login', 'x', 1, 1)"
        )
    with closing(migrate.open_database(str(path))) as store:
        assert migrate.schema_version(store) == migrate.SCHEMA_VERSION
        assert not store.writes_to_the_fleet
