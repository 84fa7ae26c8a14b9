"""Changes of rows: recorded on one replica, sent as JSON, applied to another one."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitworker.store.claims import ClockInstant, extend_claim, find_stored_claim, insert_claim
from gitworker.store.fleet.changes import (
    Recording,
    RowChange,
    apply_changes,
    divided,
    from_json,
    to_json,
)
from gitworker.store.fleet.replica import shared_tables, unguarded
from gitworker.store.postgres.schema import shared_keys
from gitworker.store.rules_leases import LeaseLength
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import create_database

THINGS = "CREATE TABLE things (a TEXT, b INTEGER, value, name TEXT UNIQUE, PRIMARY KEY (a, b))"
START = (
    "INSERT INTO things VALUES ('one', 1, 'first', 'x')",
    "INSERT INTO things VALUES ('two', 2, 'second', 'y')",
)


@pytest.fixture
def replica(tmp_path: Path, store: Database) -> Iterator[Database]:
    """A second database with the same rows as `store`, whose table has every kind of value."""
    other = create_database(str(tmp_path / "replica.db"))
    for database in (store, other):
        for text in (THINGS, *START):
            database.execute(text)
    yield other
    other.close()


def recorded(store: Database, body: Callable[[Database], object]) -> list[RowChange]:
    """Return the changes of a transaction that is rolled back."""
    store.execute("BEGIN IMMEDIATE")
    try:
        recording = Recording(store)
        body(store)
        found = recording.changes()
        recording.close()
    finally:
        store.execute("ROLLBACK")
    return found


def run_all(*statements: str) -> Callable[[Database], object]:
    """Return a body of statements."""
    return lambda database: [database.execute(one) for one in statements]


@pytest.mark.parametrize(
    ("statements", "kinds"),
    [
        (["INSERT INTO things VALUES ('new', 1, 'text', NULL)"], ["insert"]),
        (["INSERT INTO things VALUES ('new', 1, 0.1, NULL)"], ["insert"]),
        (["INSERT INTO things VALUES ('new', 1, -9223372036854775808, NULL)"], ["insert"]),
        (["INSERT INTO things VALUES ('new', 1, NULL, 'Grüße 漢字 🎉 \"\\')"], ["insert"]),
        (["UPDATE things SET value = NULL WHERE a = 'one'"], ["update"]),
        (["UPDATE things SET value = 2.5e300, name = NULL"], ["update", "update"]),
        (["UPDATE things SET value = 'first' WHERE a = 'one'"], []),
        (["DELETE FROM things"], ["delete", "delete"]),
        (["UPDATE things SET b = 9 WHERE a = 'one'"], ["delete", "insert"]),
        (["DELETE FROM things WHERE a = 'one'", "INSERT INTO things VALUES ('one', 1, 7, 'x')"],
         ["update"]),
        (["DELETE FROM things WHERE a = 'one'", "INSERT INTO things VALUES ('new', 1, 7, 'x')"],
         ["delete", "insert"]),
        (["INSERT INTO things VALUES ('new', 1, 7, 'z')", "DELETE FROM things WHERE a = 'new'"],
         []),
        (["INSERT INTO things VALUES ('new', 1, 7, 'z')", "UPDATE things SET value = 8"],
         ["update", "update", "insert"]),
    ],
)  # fmt: skip
def test_a_transaction_is_repeated(
    store: Database, replica: Database, statements: list[str], kinds: list[str]
) -> None:
    """What was recorded and sent as text makes the same rows elsewhere."""
    changes = recorded(store, run_all(*statements))
    assert [one.kind for one in changes] == kinds
    received = from_json(to_json(changes))
    assert received == changes
    apply_changes(replica, received)
    run_all(*statements)(store)
    asked = "SELECT a, b, value, typeof(value) AS type, name FROM things ORDER BY a, b"
    assert replica.execute(asked) == store.execute(asked)


def test_bytes_become_text(store: Database, replica: Database) -> None:
    """The bytes of a foreign program become text, as PostgreSQL's columns hold nothing else."""
    changes = recorded(store, run_all("UPDATE things SET value = x'61ff' WHERE a = 'one'"))
    apply_changes(replica, changes)
    assert replica.execute("SELECT value FROM things WHERE a = 'one'") == [{"value": "a\ufffd"}]


def test_changes_of_triggers_are_repeated_without_triggers(
    store: Database, replica: Database
) -> None:
    """A replica repeats what a trigger did, and its own triggers do nothing again."""
    text = (
        "CREATE TRIGGER follow AFTER INSERT ON things BEGIN"
        " UPDATE things SET value = COALESCE(value, '') || '+' WHERE a = 'two'; END"
    )
    for database in (store, replica):
        database.execute(text)
    changes = recorded(store, run_all("INSERT INTO things VALUES ('new', 1, NULL, NULL)"))
    with unguarded(replica):
        apply_changes(replica, changes)
    assert replica.execute("SELECT value FROM things WHERE a = 'two'") == [{"value": "second+"}]
    replica.execute("INSERT INTO things VALUES ('last', 1, NULL, NULL)")
    assert replica.execute("SELECT value FROM things WHERE a = 'two'") == [{"value": "second++"}]


def test_shared_changes_and_those_of_a_machine(store: Database, replica: Database) -> None:
    """A transaction is divided by its tables."""
    found = recorded(
        store,
        run_all(
            "INSERT INTO meta VALUES ('own', '1')",
            "INSERT INTO messages (id, ts_ms, from_agent, type) VALUES ('a', 1, 'hq', 'x')",
        ),
    )
    shared, own = divided(found)
    assert [one.table for one in own] == ["meta"]
    assert [one.table for one in shared] == ["messages"]


LENGTH = LeaseLength(60_000)


def at(now_ms: int) -> ClockInstant:
    """Return an instant of one boot."""
    return ClockInstant(now_ms, now_ms, boot_id="boot", host="host")


def test_a_renewed_lease_belongs_to_its_machine(store: Database, replica: Database) -> None:
    """Only the machine that renews a claim keeps its new lease, also beside other changes."""
    for database in (store, replica):
        insert_claim(database, "t", "auth", length=LENGTH, at=at(1))
    shared, own = divided(
        recorded(
            store,
            lambda writer: (
                extend_claim(writer, "t", length=LENGTH, at=at(2)),
                run_all(START[0].replace("'one'", "'new'").replace("'x'", "'z'"))(writer),
            ),
        )
    )
    assert {one.table for one in shared} == {"things"}
    assert {one.table for one in own} == {"task_claims", "claim_clocks"}
    apply_changes(store, [*shared, *own])
    apply_changes(replica, shared)
    leases = [find_stored_claim(database, "t") for database in (store, replica)]
    assert [one and one.lease_until_ms for one in leases] == [60_002, 60_001]


def test_a_claim_that_passes_on_has_its_new_lease(store: Database, replica: Database) -> None:
    """The claim of another holder begins with a lease of its own on every machine."""
    for database in (store, replica):
        insert_claim(database, "t", "auth", length=LENGTH, at=at(1))
    shared, _ = divided(
        recorded(store, lambda writer: insert_claim(writer, "t", "docs", length=LENGTH, at=at(9)))
    )
    with unguarded(replica):
        apply_changes(replica, shared)
    claim = find_stored_claim(replica, "t")
    assert claim is not None
    assert (claim.holder, claim.lease_until_ms) == ("docs", 60_009)


def test_every_shared_table_can_be_recorded(store: Database) -> None:
    """Each shared table has a primary key, without which SQLite records no changes."""
    assert sorted(shared_keys()) == shared_tables(store)


def test_unique_values_pass_by_deletion_only(store: Database) -> None:
    """No update moves a unique value from row to row, since these are the only ones beside keys."""
    asked = (
        "SELECT t.name || '.' || i.name AS name FROM sqlite_schema AS t"
        " JOIN pragma_index_list(t.name) AS l ON l.\"unique\" AND l.origin <> 'pk'"
        " JOIN pragma_index_info(l.name) AS i WHERE t.type = 'table' ORDER BY t.name, i.seqno"
    )
    tables = set(shared_tables(store))
    found = [str(row["name"]) for row in store.execute(asked)]
    assert [one for one in found if one.partition(".")[0] in tables] == [
        "messages.id", "transitions.machine", "transitions.entity_id", "transitions.version",
    ]  # fmt: skip
