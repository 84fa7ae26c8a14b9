"""The guards inside the database: a foreign program can break neither a machine nor its log."""

from pathlib import Path

import pytest

from tests.store.support import Statement, engine, foreign

# table, key, state column, initial state, a legal first event and its target
ENTITIES = [
    ("workers", "worker_id", "state", "IDLE", ("worker", "assign", "ASSIGNED")),
    ("tasks", "id", "status", "DEFINED", ("task", "DEPS_MET", "READY")),
    ("workstreams", "id", "state", "planned", ("workstream", "start", "active")),
    ("agents", "id", "state", "INITIALIZING", ("agent", "registration_complete", "IDLE")),
]
TRANSITION_COLUMNS = (
    "ts_ms", "machine", "entity_id", "version", "from_state", "event", "to_state", "actor",
)  # fmt: skip
IDS = [entity[0] for entity in ENTITIES]
Legal = tuple[str, str, str]


def insert_of(table: str, key: str, name: str, **columns: str | int) -> str:
    """Return an INSERT with the required columns of a table."""
    values: dict[str, str | int] = {key: name, "state_changed_at_ms": 1}
    if table == "tasks":
        values = {key: name, "status_changed_at_ms": 1, "created_at_ms": 1}
    values.update(columns)
    return f"INTO {table} ({', '.join(values)}) VALUES ({', '.join(map(repr, values.values()))})"


def transition(legal: Legal, origin: str, *, name: str = "one", **changes: str | int) -> Statement:
    """Return an INSERT of a transition of an entity."""
    machine, event, target = legal
    values: dict[str, str | int] = {
        "ts_ms": 5, "machine": machine, "entity_id": name, "version": 1, "from_state": origin,
        "event": event, "to_state": target, "actor": "foreign", **changes,
    }  # fmt: skip
    verb = values.pop("verb", "INSERT")
    marks = ", ".join("?" for _ in values)
    return (f"{verb} INTO transitions ({', '.join(values)}) VALUES ({marks})", [*values.values()])


def first_event(bus: Path, machine: str, origin: str) -> Legal:
    """Return a legal event out of an initial state, as the database has it."""
    ((row, *_),) = foreign(
        bus,
        ("SELECT event, to_state FROM legal_transitions WHERE machine = ? AND from_state = ?"
         " ORDER BY event", [machine, origin]),
    )  # fmt: skip
    return (machine, row[0], row[1])


@pytest.mark.parametrize("entity", ENTITIES, ids=IDS)
def test_no_statement_bypasses_the_machine(bus: Path, entity: tuple[str, ...]) -> None:
    """Every write to a state, version or id except by a transition is refused."""
    table, key, state, initial, _ = entity
    shown = f"SELECT {key}, {state}, version FROM {table} ORDER BY {key}"
    foreign(bus, f"INSERT {insert_of(table, key, 'one')}", f"INSERT {insert_of(table, key, 'two')}")
    refused = [
        f"UPDATE {table} SET {state} = 'COMPLETED' WHERE {key} = 'one'",
        f"UPDATE {table} SET {state} = 'COMPLETED', version = version + 1",
        f"UPDATE {table} SET version = version + 1 WHERE {key} = 'one'",
        f"UPDATE {table} SET {key} = 'three' WHERE {key} = 'one'",
        f"UPDATE OR REPLACE {table} SET {key} = 'two' WHERE {key} = 'one'",
        f"UPDATE OR IGNORE {table} SET {state} = 'COMPLETED'",
        f"DELETE FROM {table}",
        f"DELETE FROM {table} WHERE {key} = 'one'",
        f"INSERT OR REPLACE {insert_of(table, key, 'one')}",
        f"REPLACE {insert_of(table, key, 'one')}",
        f"INSERT OR REPLACE {insert_of(table, key, 'one', **{state: 'COMPLETED'})}",
        f"INSERT {insert_of(table, key, 'new', **{state: 'COMPLETED'})}",
        f"INSERT OR IGNORE {insert_of(table, key, 'new', **{state: 'COMPLETED'})}",
        f"INSERT {insert_of(table, key, 'new', version=7)}",
        f"INSERT {insert_of(table, key, 'one')} ON CONFLICT DO UPDATE SET {state} = 'COMPLETED'",
    ]
    answers = foreign(bus, *refused)
    assert [sql for sql, answer in zip(refused, answers, strict=True) if answer == []] == []
    assert all("gitworker: " in str(answer) for answer in answers)
    assert foreign(bus, shown) == [[["one", initial, 0], ["two", initial, 0]]]


@pytest.mark.parametrize("entity", ENTITIES, ids=IDS)
def test_a_legal_transition_is_carried_to_the_row(bus: Path, entity: tuple[str, ...]) -> None:
    """A legal transition that our connection inserts moves the entity, once."""
    table, key, state, initial, (machine, *_) = entity
    legal = first_event(bus, machine, initial)
    changed = "status_changed_at_ms" if table == "tasks" else "state_changed_at_ms"
    answers = engine(
        bus,
        f"INSERT {insert_of(table, key, 'one')}",
        transition(legal, initial),
        transition(legal, initial),
        f"SELECT {state}, version, {changed} FROM {table}",
        "SELECT COUNT(*) FROM transitions",
    )
    assert answers == [[], [], "gitworker: conflict", [[legal[2], 1, 5]], [[1]]]


@pytest.mark.parametrize("entity", ENTITIES, ids=IDS)
def test_a_foreign_transition_is_refused(bus: Path, entity: tuple[str, ...]) -> None:
    """Another program cannot insert into the log, not even a legal transition."""
    table, key, state, initial, (machine, *_) = entity
    legal = first_event(bus, machine, initial)
    named = f"{', '.join(TRANSITION_COLUMNS)}, metadata, lines"
    answers = foreign(
        bus,
        f"INSERT {insert_of(table, key, 'one')}",
        transition(legal, initial),
        transition(legal, initial, verb="INSERT OR IGNORE"),
        transition(legal, initial, verb="REPLACE"),
        f"INSERT INTO transitions ({named}) SELECT {named} FROM transitions",
        f"SELECT {state}, version FROM {table}",
        "SELECT COUNT(*) FROM transitions",
    )
    assert answers[1:5] == ["no such function: only_gitworker_inserts_transitions"] * 4
    assert answers[5:] == [[[initial, 0]], [[0]]]


@pytest.mark.parametrize("entity", ENTITIES, ids=IDS)
def test_illegal_transitions_are_refused(bus: Path, entity: tuple[str, ...]) -> None:
    """A missing row, a wrong version or origin, or an unknown name: each is refused."""
    table, key, state, initial, (machine, *_) = entity
    legal = first_event(bus, machine, initial)
    bad: list[Statement] = [
        transition((machine, legal[1], "COMPLETED"), initial),
        transition((machine, "magic", legal[2]), initial),
        transition(("other", legal[1], legal[2]), initial),
        transition(legal, "COMPLETED"),
        transition(legal, initial, version=0),
        transition(legal, initial, version=2),
        transition(legal, initial, name="unknown"),
        transition(legal, initial, verb="INSERT OR REPLACE", version=9),
        transition(legal, initial, verb="INSERT OR IGNORE", event="magic"),
        transition(legal, initial, seq=-1),
        transition(legal, initial, seq=0),
        transition(legal, initial, ts_ms="2026-01-01"),
    ]
    answers = engine(bus, f"INSERT {insert_of(table, key, 'one')}", *bad)
    assert [number for number, answer in enumerate(answers[1:]) if answer == []] == []
    assert foreign(bus, f"SELECT {key}, {state}, version FROM {table}") == [[["one", initial, 0]]]
    assert foreign(bus, "SELECT COUNT(*) FROM transitions") == [[[0]]]


def test_the_log_is_append_only(bus: Path) -> None:
    """No row of the log is changed, deleted, replaced, or put before another."""
    cancel = ("worker", "cancel", "IDLE")
    again = {"version": 3}
    answers = engine(
        bus,
        f"INSERT {insert_of('workers', 'worker_id', 'one')}",
        transition(("worker", "assign", "ASSIGNED"), "IDLE", seq=5),
        transition(cancel, "ASSIGNED", version=2),
        "SELECT * FROM transitions ORDER BY seq",
        "UPDATE transitions SET actor = 'x'",
        "UPDATE OR REPLACE transitions SET seq = 5 WHERE seq = 6",
        "DELETE FROM transitions",
        "DELETE FROM transitions WHERE seq = 6",
        transition(("worker", "assign", "ASSIGNED"), "IDLE", seq=5, **again),
        transition(("worker", "assign", "ASSIGNED"), "IDLE", seq=6, verb="REPLACE", **again),
        transition(("worker", "assign", "ASSIGNED"), "IDLE", seq=2, **again),
        "SELECT * FROM transitions ORDER BY seq",
    )
    assert answers[:3] == [[], [], []]
    assert all("append-only" in str(answer) for answer in answers[4:11])
    assert answers[3] == answers[11]
    assert isinstance(answers[3], list)
    assert [row[0] for row in answers[3]] == [5, 6]


def test_the_machines_are_frozen(bus: Path) -> None:
    """No statement changes the machines' tables, even after changes to `meta`."""
    answers = foreign(
        bus,
        "SELECT COUNT(*) FROM legal_transitions",
        "DELETE FROM meta WHERE key NOT IN ('schema_version', 'gitworker_schema')",
        "INSERT INTO meta (key, value) VALUES ('machines_loaded', '0')",
        "INSERT INTO legal_transitions VALUES ('worker', 'IDLE', 'magic', 'COMPLETED')",
        "INSERT OR REPLACE INTO legal_transitions VALUES ('worker', 'IDLE', 'assign', 'FAILED')",
        "INSERT OR IGNORE INTO legal_transitions VALUES ('worker', 'IDLE', 'magic', 'COMPLETED')",
        "UPDATE legal_transitions SET to_state = 'COMPLETED'",
        "UPDATE OR REPLACE legal_transitions SET event = 'assign' WHERE event = 'start'",
        "DELETE FROM legal_transitions",
        "SELECT COUNT(*) FROM legal_transitions",
    )
    assert all("the state machines are fixed" in str(answer) for answer in answers[3:9])
    assert answers[0] == answers[9]


def test_other_columns_are_free(bus: Path) -> None:
    """Other columns may be written: a foreign program may set a title or a note."""
    answers = foreign(
        bus,
        f"INSERT {insert_of('tasks', 'id', 'one')}",
        "UPDATE tasks SET title = 'A title', priority = 5 WHERE id = 'one'",
        "UPDATE tasks SET status = status, version = version WHERE id = 'one'",
        "SELECT title, priority, status FROM tasks",
    )
    assert answers == [[], [], [], [["A title", 5, "DEFINED"]]]


def test_retries_stay_within_their_limit(bus: Path) -> None:
    """A task never counts more retries than its limit."""
    answers = foreign(
        bus,
        f"INSERT {insert_of('tasks', 'id', 'one')}",
        "UPDATE tasks SET retry_count = 3",
        "UPDATE tasks SET retry_count = 4",
    )
    assert answers[1] == []
    assert "CHECK" in str(answers[2])
