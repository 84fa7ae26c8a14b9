"""One connection, one gate: complete transactions, and errors with helpful hints."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from gitworker.errors import Conflict, GitWorkerError, Internal, Invalid, Unavailable
from gitworker.store.sqlite.database import Database, translated
from gitworker.store.sqlite.write_gate import GATE_TIMEOUT_MS, WriteGate
from tests.store.support import foreign, opened, send, wait_until, writer_process

ADD = "INSERT INTO cursors (agent_id, last_acked_seq, updated_at_ms) VALUES (:a, 1, 1)"


def cursors(store: Database) -> list[str]:
    """Return the agents that have a cursor."""
    return [row["agent_id"] for row in store.execute("SELECT agent_id FROM cursors")]


def test_a_later_migration_is_noticed(bus: Path, store: Database) -> None:
    """An open store refuses writes once a newer program has migrated the file, but not before."""
    foreign(bus, "CREATE TABLE of_another_program (x)")
    send(store, "a")
    newer = "UPDATE meta SET value = '99' WHERE key = 'gitworker_schema'"
    foreign(bus, "CREATE TABLE of_a_newer_version (x)", newer)
    for _ in range(2):
        with pytest.raises(Unavailable, match="written by a newer gitworker") as caught:
            send(store, "b")
        assert caught.value.code == "newer_schema"
        with pytest.raises(Unavailable, match="written by a newer gitworker"):
            store.write_one("exports.set_bus_seq", last_seq=1)


def test_a_write_is_committed(store: Database, bus: Path) -> None:
    """A committed write is visible to every other program."""
    with store.write() as writer:
        writer.execute(ADD, {"a": "x"})
        assert store.connection.in_transaction
    assert foreign(bus, "SELECT agent_id FROM cursors") == [[["x"]]]


def test_a_write_takes_its_lock_at_once(store: Database, bus: Path) -> None:
    """A write transaction holds SQLite's write lock from its start, so that it never upgrades."""
    with store.write():
        (answer,) = foreign(bus, "PRAGMA busy_timeout = 0")
        assert answer == [[0]]
        refused = foreign(bus, "PRAGMA busy_timeout = 0", "BEGIN IMMEDIATE")
    assert refused[1] == "database is locked"


def test_a_read_is_one_snapshot_and_writes_nothing(store: Database, bus: Path) -> None:
    """A read does not see later commits of others, and its own writes are rolled back."""
    send(store, "before")
    with store.read() as reader:
        assert reader.row("messages.last_seq") == {"seq": 1}
        foreign(bus, "INSERT INTO messages (id, ts_ms, from_agent, type) VALUES ('x', 1, 'f', 't')")
        assert reader.row("messages.last_seq") == {"seq": 1}
    assert store.row("messages.last_seq") == {"seq": 2}
    with opened(bus) as other, other.read() as reader:
        reader.execute(ADD, {"a": "stray"})
    assert cursors(store) == []


def test_rows_and_counts(store: Database) -> None:
    """A query returns mappings, the first row or None; a statement returns its number of rows."""
    assert store.row("messages.by_id", id="a") is None
    send(store, "a", payload="{}")
    row = store.row("messages.by_id", id="a")
    assert row is not None
    assert (row["id"], row["payload"], row["to_agent"]) == ("a", "{}", None)
    with store.write() as writer:
        assert writer.run("tips.set", ref="r", oid="1", now=1) == 1
        assert writer.run("tips.move", ref="r", old="2", new="3", now=1) == 0
        assert writer.run("tips.move", ref="r", old="1", new="3", now=1) == 1


def test_a_gate_that_stays_shut_is_a_conflict(bus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a process never releases the gate, others give up with a Conflict in bounded time."""
    holder = writer_process(bus, "hold")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    now = [0]
    pauses: list[float] = []
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: now[0])

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += 1000

    monkeypatch.setattr("gitworker.clock.sleep", sleep)
    with pytest.raises(Conflict, match="20 s"), WriteGate(f"{bus}-gate"):
        pytest.fail("two processes hold one gate")
    assert now[0] > GATE_TIMEOUT_MS
    assert pauses[0] < pauses[1] <= max(pauses) <= 0.005
    holder.communicate("\n")
    with WriteGate(f"{bus}-gate"):
        pass


def test_a_killed_holder_blocks_no_writer(bus: Path, store: Database) -> None:
    """A process killed inside a write transaction releases gate and lock and leaves no row."""
    holder = writer_process(bus, "begin")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    holder.kill()
    holder.communicate()
    send(store, "next")
    assert [row["id"] for row in store.rows("messages.follow", after=0, limit=9)] == ["next"]


def test_a_waiting_writer_gets_the_gate(bus: Path, store: Database) -> None:
    """A writer that finds the gate taken waits, and writes as soon as it is free."""
    holder = writer_process(bus, "begin")
    assert holder.stdout is not None
    holder.stdout.readline()
    waiter = writer_process(bus, "publish", "waiter", "1")
    wait_until(lambda: _waits_for(bus, waiter.pid), "the waiter to find the gate taken")
    holder.communicate("\n")
    assert waiter.communicate()[0] == "waiter-0\n"
    assert [r["id"] for r in store.rows("messages.follow", after=0, limit=9)] == [
        "unfinished",
        "waiter-0",
    ]


def test_the_gate_of_an_unwritable_place(tmp_path: Path) -> None:
    """If a gate cannot be made, an error of ours names the file."""
    with pytest.raises(Unavailable) as caught, WriteGate(str(tmp_path / "missing" / "gate")):
        pytest.fail("no gate can be there")
    assert caught.value.code == "read_only"


def test_a_transaction_does_not_nest(store: Database) -> None:
    """A read inside a read raises an error about a defect of ours, and does no harm."""
    with store.read(), pytest.raises(Internal), store.read():
        pytest.fail("SQLite has no nested BEGIN")


def test_a_failed_begin_opens_the_gate(store: Database, bus: Path) -> None:
    """If BEGIN IMMEDIATE fails, the gate is released."""
    with store.read(), pytest.raises(Internal):
        store.write().__enter__()
    with WriteGate(f"{bus}-gate"):
        pass


def test_the_switch_to_wal_waits_for_a_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new file to which another program writes is opened once it has ended, or is a conflict."""
    path = str(tmp_path / "bus.db")
    other = apsw.Connection(path)
    other.execute("CREATE TABLE t (x); BEGIN IMMEDIATE")
    monkeypatch.setattr("gitworker.store.sqlite.database.BUSY_TIMEOUT_MS", 0)
    with pytest.raises(Conflict, match="the database is busy"):
        Database(path)
    monkeypatch.setattr("gitworker.store.sqlite.database.BUSY_TIMEOUT_MS", 60_000)
    waits: list[float] = []

    def end_the_write(seconds: float) -> None:
        waits.append(seconds)
        other.execute("COMMIT")

    monkeypatch.setattr("gitworker.clock.sleep", end_the_write)
    database = Database(path)
    assert database.connection.pragma("journal_mode") == "wal"
    assert len(waits) == 1
    database.close()


def test_an_unused_store_is_closed(bus: Path) -> None:
    """Stores that are opened one after another and dropped leave no file open."""

    def count_open() -> int:
        names = [f"/dev/fd/{name}" for name in os.listdir("/dev/fd")]
        return sum(os.path.realpath(name).startswith(str(bus)) for name in names)

    before = count_open()
    for number in range(3):
        store = Database(str(bus))
        with store.write() as writer:
            writer.execute(ADD, {"a": f"x{number}"})
        assert count_open() > before
        del writer, store
    gc.collect()
    assert count_open() == before


def test_syncing_a_checkpointed_database(store: Database, bus: Path) -> None:
    """Without a write-ahead log, everything is in the database already."""
    Path(f"{bus}-wal").unlink()
    store.sync()


def test_writes_are_synced_except_heartbeats(store: Database, bus: Path) -> None:
    """A write is on disk when it returns; a heartbeat is not synced."""
    program = (
        "import os, sys\nfrom gitworker.store.sqlite.migrate import open_database\n"
        "names = []\nsys.addaudithook(lambda n, a: names.append(a[0]) if n == 'open' else None)\n"
        "store = open_database(sys.argv[1])\n"
        "for durable in (True, False):\n"
        "    names.clear()\n"
        "    with store.write(durable=durable) as writer: pass\n"
        "    print(any(str(name).endswith('-wal') for name in names))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(bus)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]


def _of_trigger(text: str) -> apsw.ConstraintError:
    """Return the error that SQLite raises for a trigger's RAISE."""
    error = apsw.ConstraintError(text)
    vars(error)["extendedresult"] = apsw.SQLITE_CONSTRAINT_TRIGGER
    return error


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (apsw.BusyError("database is locked"), "busy", Conflict),
        (apsw.NotADBError("file is not a database"), "database_damaged", Unavailable),
        (apsw.CorruptError("malformed"), "database_damaged", Unavailable),
        (apsw.ReadOnlyError("attempt to write"), "read_only", Unavailable),
        (apsw.CantOpenError("unable to open"), "read_only", Unavailable),
        (apsw.PermissionsError("no"), "read_only", Unavailable),
        (apsw.FullError("disk is full"), "disk", Unavailable),
        (apsw.IOError("disk I/O error"), "disk", Unavailable),
        (_of_trigger("gitworker: conflict"), "conflict", Conflict),
        (apsw.ConstraintError("gitworker: conflict"), "internal", Internal),
        (apsw.ConstraintError("UNIQUE constraint failed: tasks.id"), "internal", Internal),
        (apsw.SQLError("no such column"), "internal", Internal),
    ],
)
def test_errors_of_sqlite_are_translated(
    error: apsw.Error, code: str, kind: type[GitWorkerError]
) -> None:
    """Each error of SQLite becomes one of ours, with the class that sets the exit status."""
    ours = translated(error, "bus.db")
    assert type(ours) is kind
    assert ours.code == code
    assert ours.hint or kind is Internal


@pytest.mark.parametrize("text", ["\udcff", "a\ud800b"])
def test_a_text_that_is_not_utf_8(store: Database, text: str) -> None:
    """A name that the shell passed as other bytes is refused as such, in reads and writes."""
    with pytest.raises(Invalid, match="is not valid UTF-8"):
        store.rows("tasks.by_id", task=text)
    with pytest.raises(Invalid), store.write() as writer:
        writer.execute(ADD, {"a": text})
    with pytest.raises(Invalid):
        store.write_one("tasks.set_title", task="t", title=text)
    assert cursors(store) == []


def _waits_for(bus: Path, pid: int) -> bool:
    """Return whether a process has opened the gate of a bus."""
    try:
        links = [path.readlink() for path in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    return Path(f"{bus}-gate") in links


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("from collections.abc import Mapping", "False False"),
        ("import collections.abc\nMapping = collections.abc.Mapping", "False False"),
        ("from collections.abc import Mapping\nfrom collections import deque", "True False"),
        ("raise ImportError", "False False"),
    ],
)
def test_the_driver_is_imported_without_a_package_around_one_class(
    tmp_path: Path, source: str, wanted: str
) -> None:
    """The stand-in for `collections` is gone after the import, and one that needs more gets all."""
    (tmp_path / "apsw.py").write_text(source)
    program = """
import sys
try:
    import gitworker.store.sqlite
except ImportError:
    pass
print("collections" in sys.modules, "collections.abc" in sys.modules)
import collections.abc
assert issubclass(collections.OrderedDict, collections.abc.Mapping)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(tmp_path)}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.strip() == wanted
