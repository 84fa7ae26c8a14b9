"""The schema: the documented tables exactly, our own beside them, made once despite races."""

import subprocess
from pathlib import Path

import pytest

from gitworker.states.engine import legal_rows
from gitworker.states.machines import MACHINES
from gitworker.store.sqlite import migrate
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import SCHEMA_VERSION, create_database, open_database
from tests.store.support import SEED2, foreign, foreign_script, opened, wait_until, writer_process

SEED2_TABLES = ("messages", "cursors", "heartbeats", "task_claims", "meta", "export_state")
SCHEMA = Path(migrate.__file__).with_name("schema.sql")
NEWEST = SCHEMA.with_name("newest.sql")


@pytest.mark.parametrize("table", SEED2_TABLES)
def test_documented_tables_are_unchanged(tmp_path: Path, bus: Path, table: str) -> None:
    """Columns, types, defaults and indexes of the documented tables stay; one index is added."""
    old = tmp_path / "seed2.db"
    foreign_script(old, SEED2)
    asked = (
        f"SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('{table}')",
        f"SELECT name, \"unique\", origin FROM pragma_index_list('{table}')"
        " WHERE name <> 'idx_messages_in_reply_to' ORDER BY name",
        "SELECT l.name, i.seqno, i.name FROM pragma_index_list('" + table + "') AS l"
        " JOIN pragma_index_info(l.name) AS i WHERE l.name <> 'idx_messages_in_reply_to'"
        " ORDER BY l.name, i.seqno",
    )
    theirs, ours = foreign(old, *asked), foreign(bus, *asked)
    assert theirs == ours
    assert theirs[0], "the tables were not found"


def test_documented_constraints_hold(bus: Path) -> None:
    """One payload or none, one row of export state, a message id once."""
    insert = "INSERT INTO messages (id, ts_ms, from_agent, type, payload, payload_ref) VALUES "
    answers = foreign(
        bus,
        insert + "('a', 1, 'x', 't', '{}', 'sha256-0')",
        insert + "('a', 1, 'x', 't', '{}', NULL)",
        insert + "('a', 1, 'x', 't', '{}', NULL)",
        "INSERT INTO export_state (id, last_seq) VALUES (2, 0)",
        "SELECT key, value FROM meta ORDER BY key",
    )
    assert "CHECK" in str(answers[0])
    assert answers[1] == []
    assert "UNIQUE" in str(answers[2])
    assert "CHECK" in str(answers[3])
    assert answers[4] == [["gitworker_schema", str(SCHEMA_VERSION)], ["schema_version", "1"]]


@pytest.mark.parametrize("script", [SCHEMA, NEWEST], ids=lambda script: script.name)
def test_an_old_sqlite_opens_the_schema(tmp_path: Path, script: Path) -> None:
    """Python's own sqlite3 executes both scripts and uses our database."""
    fresh = tmp_path / "fresh.db"
    foreign_script(fresh, script)
    assert foreign(fresh, "SELECT COUNT(*) FROM workers") == [[[0]]]


@pytest.mark.parametrize("script", [SCHEMA, NEWEST], ids=lambda script: script.name)
def test_the_schema_uses_no_syntax_of_a_newer_sqlite(script: Path) -> None:
    """Neither script uses syntax that came to SQLite after 3.35."""
    text = script.read_text().upper()
    newer = ("STRICT", "->", "RIGHT JOIN", "FULL JOIN", "UNIXEPOCH(", "JSONB", "STRING_AGG(")
    assert [word for word in newer if word in text] == []


def test_the_database_knows_the_machines(bus: Path) -> None:
    """The table legal_transitions holds exactly the rows of all machines."""
    wanted = sorted(list(row) for machine in MACHINES.values() for row in legal_rows(machine))
    asked = "SELECT machine, from_state, event, to_state FROM legal_transitions"
    (found,) = foreign(bus, asked)
    assert isinstance(found, list)
    assert sorted(found) == wanted


def test_the_file_is_wal_and_gives_space_back(bus: Path) -> None:
    """Every bus is in WAL mode with incremental vacuum, and every connection is set up alike."""
    assert foreign(bus, "PRAGMA journal_mode", "PRAGMA auto_vacuum") == [[["wal"]], [[2]]]
    with opened(bus) as store:
        pragmas = ("foreign_keys", "synchronous", "journal_size_limit", "busy_timeout")
        assert [store.connection.pragma(p) for p in pragmas] == [1, 1, 4 * 1024 * 1024, 5000]
        assert store.connection.pragma("page_size") == 1024
        assert store.connection.pragma("wal_autocheckpoint") == 4_000_000 // 1024


def test_an_empty_file_becomes_a_bus(tmp_path: Path) -> None:
    """An empty file that a creator has just made is completed by the first opener."""
    path = tmp_path / "bus.db"
    path.touch()
    open_database(str(path)).close()
    assert foreign(path, "PRAGMA journal_mode", "PRAGMA auto_vacuum") == [[["wal"]], [[2]]]


def test_every_index_names_its_query() -> None:
    """Each of our own indexes is below a comment that names its query."""
    lines = SCHEMA.read_text().splitlines()
    for number, line in enumerate(lines):
        if "INDEX idx_" in line and "IF NOT EXISTS" not in line:
            assert lines[number - 1].startswith("-- for: "), line


def test_creation_is_safe_to_repeat(bus: Path) -> None:
    """Creating a bus that exists opens it and changes nothing."""
    before = foreign(bus, "SELECT sql FROM sqlite_master ORDER BY name")
    create_database(str(bus)).close()
    assert foreign(bus, "SELECT sql FROM sqlite_master ORDER BY name") == before


def test_sixteen_creators_make_one_schema(tmp_path: Path) -> None:
    """Sixteen processes that create the same bus at once all succeed and make one schema."""
    path = tmp_path / "bus.db"
    racers = [writer_process(path, "create") for _ in range(16)]
    for racer in racers:
        _go(racer)
    answers = [racer.communicate()[0].strip() for racer in racers]
    assert answers == [str(SCHEMA_VERSION)] * 16
    assert foreign(path, "PRAGMA auto_vacuum", "PRAGMA integrity_check") == [[[2]], [["ok"]]]
    assert sorted(p.name for p in tmp_path.iterdir() if "before" in p.name) == []


def test_openers_may_race_creators(tmp_path: Path) -> None:
    """A process that opens the unfinished file of a creator helps to complete it."""
    path = tmp_path / "bus.db"
    racer = writer_process(path, "create")
    _go(racer)
    wait_until(path.exists, "the file")
    with opened(path) as store:
        assert migrate.schema_version(store) == SCHEMA_VERSION
        assert store.connection.pragma("auto_vacuum") == 2
    racer.communicate()


def test_the_version_without_our_tables(tmp_path: Path) -> None:
    """A database without our tables is at version 0."""
    database = Database(str(tmp_path / "x.db"), create=True)
    assert migrate.schema_version(database) == 0
    database.close()


def _go(racer: "subprocess.Popen[str]") -> None:
    assert racer.stdin is not None
    racer.stdin.write("\n")
    racer.stdin.flush()
