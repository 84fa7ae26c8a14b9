"""Opening a bus that another program made, or that cannot be used."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gitworker.errors import Unavailable
from gitworker.store.sqlite import migrate
from gitworker.store.sqlite.database import PAGE_SIZE, Database
from gitworker.store.sqlite.migrate import create_database, open_database
from gitworker.store.sqlite.snapshot import copy_database
from tests.store.support import SEED2, foreign, foreign_script, opened, send, writer_process

ROWS = (
    "SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,"
    " payload_ref FROM messages ORDER BY seq",
    "SELECT agent_id, last_acked_seq, updated_at_ms FROM cursors",
    "SELECT agent_id, ts_ms, status, current_task, progress FROM heartbeats",
    "SELECT task_id, claimed_by, claimed_at_ms, lease_until_ms FROM task_claims",
    "SELECT last_seq FROM export_state",
    "SELECT value FROM meta WHERE key = 'schema_version'",
)
SCHEMAS = Path(migrate.__file__).parent
COUNT_NEW_TABLES = "SELECT COUNT(*) FROM sqlite_master WHERE name IN ('dead_letters', 'runs')"
OPEN = """
import sys
from gitworker.errors import GitWorkerError
from gitworker.store.sqlite.migrate import create_database, open_database
try:
    store = {opener}(sys.argv[1])
    {call}
except GitWorkerError as error:
    print(error.code)
"""


@pytest.fixture
def foreign_bus(tmp_path: Path) -> Path:
    """A bus.db that the documented SQL made, with rows."""
    path = tmp_path / "bus.db"
    foreign_script(path, SEED2)
    return path


def test_a_foreign_bus_is_adopted(foreign_bus: Path) -> None:
    """Every row of a bus that the documented SQL made stays, and our tables are added."""
    before = foreign(foreign_bus, *ROWS)
    with opened(foreign_bus) as store:
        send(store, "new")
        assert len(store.rows("messages.follow", after=0, limit=10)) == 3
    after = foreign(foreign_bus, *ROWS)
    assert after[1:] == before[1:]
    assert isinstance(after[0], list)
    assert after[0][:2] == before[0]
    assert after[5] == [["1"]]


def test_adoption_keeps_a_copy(foreign_bus: Path) -> None:
    """The file as it was before its adoption is kept beside it, readable by foreign programs."""
    before = foreign(foreign_bus, *ROWS)
    opened_twice = [open_database(str(foreign_bus)) for _ in range(2)]
    for store in opened_twice:
        store.close()
    copy = Path(f"{foreign_bus}.before-schema-{migrate.SCHEMA_VERSION}-from-0")
    assert foreign(copy, *ROWS) == before
    assert foreign(copy, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'workers'") == [[[0]]]
    assert not list(foreign_bus.parent.glob("*.tmp"))


def test_a_kept_copy_is_never_replaced(foreign_bus: Path, tmp_path: Path) -> None:
    """Each different file is copied once before its migration, and no copy is changed."""
    before = tmp_path / "before.db"
    copy_database(str(foreign_bus), str(before))
    for kept, is_same in ((1, True), (1, True), (2, False), (3, False)):
        for path in foreign_bus.parent.glob("bus.db*"):
            if path.suffix in (".db", ".db-wal", ".db-shm"):
                path.unlink()
        copy_database(str(before), str(foreign_bus))
        if not is_same:  # the user went back to the copy and to the older program, and worked
            foreign(foreign_bus, f"UPDATE cursors SET last_acked_seq = {kept}")
        open_database(str(foreign_bus)).close()
        copies = sorted(foreign_bus.parent.glob("*.before-schema-*"))
        assert len(copies) == kept
    found = [foreign(copy, "SELECT last_acked_seq FROM cursors") for copy in copies]
    assert found == [[[[1]]], [[[2]]], [[[3]]]]


def test_adoption_may_race(foreign_bus: Path) -> None:
    """Eight processes that adopt one bus at once adopt it once and keep the copy unadopted."""
    racers = [writer_process(foreign_bus, "create") for _ in range(8)]
    answers = [racer.communicate("\n")[0].strip() for racer in racers]
    assert answers == [str(migrate.SCHEMA_VERSION)] * 8
    copy = f"{foreign_bus}.before-schema-{migrate.SCHEMA_VERSION}-from-0"
    assert foreign(copy, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'workers'") == [[[0]]]
    assert foreign(foreign_bus, "SELECT COUNT(*) FROM messages") == [[[2]]]


def test_a_newer_schema_is_refused(bus: Path) -> None:
    """A bus of a newer gitworker is refused with a hint, and not a byte of it changes."""
    foreign(bus, "UPDATE meta SET value = '99' WHERE key = 'gitworker_schema'")
    foreign(bus, "PRAGMA wal_checkpoint(TRUNCATE)")
    before = bus.read_bytes()
    with pytest.raises(Unavailable) as caught:
        open_database(str(bus))
    assert caught.value.code == "newer_schema"
    assert "upgrade" in str(caught.value.hint)
    with pytest.raises(Unavailable):
        create_database(str(bus))
    assert bus.read_bytes() == before


@pytest.mark.parametrize("version", ["2", "0", "1.1", "three", ""])
@pytest.mark.parametrize("made_by", ["ours", "foreign"])
def test_another_protocol_is_refused(bus: Path, tmp_path: Path, made_by: str, version: str) -> None:
    """A bus whose protocol is not version 1 is refused as too new, and not a byte changes."""
    path = bus if made_by == "ours" else tmp_path / "foreign.db"
    if made_by == "foreign":
        foreign_script(path, SEED2)
    foreign(path, ("UPDATE meta SET value = ? WHERE key = 'schema_version'", [version]))
    foreign(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    for opener in (open_database, create_database):
        with pytest.raises(Unavailable, match="of the bus protocol; this one knows 1") as caught:
            opener(str(path))
        assert caught.value.code == "newer_schema"
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.before-schema-*"))


def test_a_schema_that_is_not_a_number(bus: Path) -> None:
    """A bus without a readable version is left alone."""
    foreign(bus, "UPDATE meta SET value = 'three' WHERE key = 'gitworker_schema'")
    with pytest.raises(Unavailable, match="has an invalid schema version: 'three'") as caught:
        open_database(str(bus))
    assert caught.value.code == "database_damaged"


def test_an_older_schema_is_brought_forward(tmp_path: Path) -> None:
    """A bus of the first release gets the newer tables, keeps its rows, and a copy of it stays."""
    bus = tmp_path / "bus.db"
    with closing(Database(str(bus), create=True)) as store:
        store.execute((SCHEMAS / "schema.sql").read_text())
        migrate.load_machines(store)
        store.execute("INSERT INTO meta (key, value) VALUES ('gitworker_schema', '1')")
        send(store, "old")
    assert foreign(bus, COUNT_NEW_TABLES) == [[[0]]]
    with opened(bus) as store:
        assert [row["id"] for row in store.rows("messages.follow", after=0, limit=9)] == ["old"]
        assert migrate.schema_version(store) == migrate.SCHEMA_VERSION
    assert foreign(bus, COUNT_NEW_TABLES) == [[[2]]]
    copy = Path(f"{bus}.before-schema-{migrate.SCHEMA_VERSION}-from-1")
    assert foreign(copy, "SELECT id FROM messages") == [[["old"]]]


def test_a_new_bus_equals_an_old_one_brought_forward(bus: Path, tmp_path: Path) -> None:
    """A new bus has the tables, guards and rows of an empty bus of the first release, migrated."""
    old = tmp_path / "old.db"
    with closing(Database(str(old), create=True)) as store:
        store.execute((SCHEMAS / "schema.sql").read_text())
        migrate.load_machines(store)
        store.execute("INSERT INTO meta (key, value) VALUES ('gitworker_schema', '1')")
    open_database(str(old)).close()
    objects = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    (found,) = foreign(bus, objects)
    assert isinstance(found, list)
    assert len(found) > 100
    assert foreign(old, objects) == [found]
    tables = [f'SELECT * FROM "{name}"' for kind, name, *_ in found if kind == "table"]
    new_rows, old_rows = (map(sorted, foreign(path, *tables)) for path in (bus, old))
    assert list(new_rows) == list(old_rows)


def test_the_guards_of_a_new_bus_run_in_the_same_order(bus: Path, tmp_path: Path) -> None:
    """SQLite runs the triggers of a table in the order of their making, as in a migrated bus."""
    old = tmp_path / "old.db"
    foreign_script(old, SEED2)
    open_database(str(old)).close()
    order = "SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"
    (found,), (wanted,) = foreign(bus, order), foreign(old, order)
    assert isinstance(found, list)
    assert isinstance(wanted, list)
    assert sorted(found, key=lambda row: row[0]) == sorted(wanted, key=lambda row: row[0])


def test_a_missing_bus_is_named(tmp_path: Path) -> None:
    """Opening a missing bus names the command that makes it, and makes nothing."""
    with pytest.raises(Unavailable) as caught:
        open_database(str(tmp_path / "bus.db"))
    assert (caught.value.code, caught.value.hint) == ("not_initialised", "git worker init")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("left", ["nothing", "no bytes", "no tables"])
@pytest.mark.parametrize("opener", [open_database, create_database])
def test_a_lost_database_is_refused(
    tmp_path: Path, left: str, opener: Callable[[str], Database]
) -> None:
    """A missing or empty bus.db beside a log of transitions is not replaced by a new one."""
    path = tmp_path / "bus.db"
    log = tmp_path / "transitions.jsonl"
    log.write_text("{}\n")
    if left == "no bytes":
        path.touch()
    elif left == "no tables":
        Database(str(path), create=True).close()
    for number in (1, 2):
        with pytest.raises(Unavailable) as caught:
            opener(str(path))
        assert caught.value.code == "database_lost"
        assert f"mv {log} {log}.lost-{number} " in str(caught.value.hint)
        assert path.exists() == (left != "nothing")
        (tmp_path / "transitions.jsonl.lost-1").touch()
    log.unlink()
    create_database(str(path)).close()


def test_a_killed_creator_loses_nothing(tmp_path: Path) -> None:
    """An empty bus.db beside an empty log is that of a killed creator, and is filled."""
    path = tmp_path / "bus.db"
    (tmp_path / "transitions.jsonl").touch()
    path.touch()
    with opened(path) as store:
        assert migrate.schema_version(store) == migrate.SCHEMA_VERSION


def test_a_file_that_is_not_a_database_is_left_alone(tmp_path: Path) -> None:
    """A file that is not a database gives a clear error and keeps every byte."""
    path = tmp_path / "bus.db"
    path.write_bytes(b"this is a text, and no database at all\n" * 100)
    before = path.read_bytes()
    with pytest.raises(Unavailable) as caught:
        open_database(str(path))
    assert caught.value.code == "database_damaged"
    assert path.read_bytes() == before


def test_a_damaged_database_is_left_alone(bus: Path) -> None:
    """A database with a page of noise gives a clear error and keeps every byte."""
    foreign(bus, "PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(bus.read_bytes())
    data[100:4096] = bytes(range(256))[:4] * 999
    bus.write_bytes(data)
    with pytest.raises(Unavailable) as caught:
        open_database(str(bus))
    assert caught.value.code == "database_damaged"
    assert caught.value.hint == "git worker doctor"
    assert bus.read_bytes() == bytes(data)


def test_a_damaged_table_is_reported_by_the_query(bus: Path) -> None:
    """Damage that only a query reads gives the same clear error."""
    with opened(bus) as store:
        for number in range(300):
            send(store, f"m{number:04}", payload='{"x": "' + "y" * 400 + '"}')
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (((root,),),) = foreign(bus, "SELECT rootpage FROM sqlite_master WHERE name = 'messages'")
    data = bytearray(bus.read_bytes())
    data[(root - 1) * PAGE_SIZE : root * PAGE_SIZE] = b"\xff" * PAGE_SIZE
    bus.write_bytes(data)
    with opened(bus) as store, pytest.raises(Unavailable) as caught:
        store.rows("messages.follow", after=0, limit=1000)
    assert caught.value.code == "database_damaged"


def test_a_read_only_state_directory_is_named(bus: Path) -> None:
    """If nothing can be written, an error of ours says so."""
    foreign(bus, "PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ("bus.db-wal", "bus.db-shm"):
        (bus.parent / name).unlink(missing_ok=True)
    for path in bus.parent.iterdir():
        path.chmod(0o400)
    bus.parent.chmod(0o500)
    write = OPEN.format(opener="open_database", call="store.write().__enter__()")
    create = OPEN.format(opener="create_database", call="")
    try:
        assert _without_privileges(write, str(bus)) == "read_only"
        assert _without_privileges(create, str(bus.parent / "new.db")) == "read_only"
    finally:
        bus.parent.chmod(0o700)


def test_a_foreign_bus_that_cannot_be_copied_stays(foreign_bus: Path) -> None:
    """If the copy cannot be written nothing is adopted, and the error names the disk."""
    before = foreign(foreign_bus, "SELECT name FROM sqlite_master ORDER BY name")
    copy = f"{foreign_bus}.before-schema-{migrate.SCHEMA_VERSION}-from-0"
    in_the_way = f"import os; os.mkdir(f'{copy}.{{os.getpid()}}.tmp')\n"
    program = in_the_way + OPEN.format(opener="open_database", call="")
    assert _without_privileges(program, str(foreign_bus)) == "read_only"
    assert foreign(foreign_bus, "SELECT name FROM sqlite_master ORDER BY name") == before


def _without_privileges(program: str, path: str) -> str:
    """Run a program that file modes restrict, even if the tests run as root."""
    command = [sys.executable, "-c", program, path]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root, and no setpriv to give its privileges up")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
