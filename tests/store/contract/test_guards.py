"""The guards of states: only a legal transition from the present version changes a state."""

import pytest

from gitworker.errors import Conflict, Internal, Unavailable
from gitworker.model.worker import WorkerState
from gitworker.store.api import Store, Writer
from gitworker.store.backend import expected_guards, open_store, restate, restore_guards
from gitworker.store.messages.transitions import (
    NewTransition,
    insert_transition,
    last_transition_ms,
)
from gitworker.store.sqlite.database import Database
from gitworker.store.workers import add_worker, load_worker, set_review_state

ASSIGN = NewTransition(
    "worker", "auth", 1, "IDLE", "assign", "ASSIGNED", 5, "hq", metadata="{}", lines="[]"
)


@pytest.fixture(autouse=True)
def auth(store: Store) -> None:
    """An IDLE worker."""
    with store.write() as writer:
        add_worker(writer, "auth", 1)


def test_a_transition_changes_the_state(store: Store, other: Store) -> None:
    """A legal transition moves the worker to its state and version, at its time."""
    with store.write() as writer:
        insert_transition(writer, ASSIGN)
    worker = load_worker(other, "auth")
    assert (worker.state, worker.version) == (WorkerState.ASSIGNED, 1)
    assert (worker.state_changed_at_ms, last_transition_ms(other)) == (5, 5)


@pytest.mark.parametrize("version", [0, 2, 3])
def test_a_stale_version_is_a_conflict(store: Store, version: int) -> None:
    """A transition from a version that is not the present one is a Conflict and changes nothing."""
    with pytest.raises(Conflict) as caught, store.write() as writer:
        insert_transition(writer, ASSIGN._replace(version=version))
    assert (caught.value.code, caught.value.status) == ("conflict", 3)
    assert load_worker(store, "auth").version == 0


@pytest.mark.parametrize(
    "illegal",
    [
        ASSIGN._replace(to_state="COMPLETED"),
        ASSIGN._replace(event="magic"),
        ASSIGN._replace(from_state="WORKING"),
        ASSIGN._replace(machine="other"),
        ASSIGN._replace(entity="unknown"),
    ],
)
def test_illegal_transitions_are_refused(store: Store, illegal: NewTransition) -> None:
    """No transition outside the state machine is stored."""
    with pytest.raises((Conflict, Internal)), store.write() as writer:
        insert_transition(writer, illegal)
    assert (load_worker(store, "auth").state, last_transition_ms(store)) == (WorkerState.IDLE, 0)


def test_a_second_worker_of_a_name_is_a_conflict(store: Store) -> None:
    """A worker is inserted once."""
    with pytest.raises(Conflict, match="the worker exists already"), store.write() as writer:
        add_worker(writer, "auth", 2)


def test_other_columns_are_free(store: Store) -> None:
    """Columns beside the state need no transition."""
    with store.write() as writer:
        set_review_state(writer, "auth", "pending")
    assert load_worker(store, "auth").review_state == "pending"


def test_a_repair_passes_the_guards(store: Store, location: str) -> None:
    """A repair can set a state, and leaves all guards in place."""
    restate(store, "worker", "auth", state="WORKING", version=7)
    assert load_worker(store, "auth").version == 7
    restore_guards(store, list(expected_guards(store)))
    with pytest.raises(Conflict), store.write() as writer:
        insert_transition(writer, ASSIGN)
    open_store(location).close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tasks SET open_needs = 0 WHERE id = 'b'",
        "UPDATE tasks SET open_needs = 2 WHERE id = 'b'",
        "UPDATE claim_epochs SET epoch = 0",
        "UPDATE claim_epochs SET task_id = 'y'",
        "INSERT OR REPLACE INTO claim_epochs (task_id, epoch) VALUES ('x', 0)",
        "DELETE FROM claim_epochs",
    ],
)
def test_counts_and_epochs_are_not_set(store: Store, statement: str) -> None:
    """The number of open dependencies and the epoch of a claim change with their rows only."""
    with store.write() as writer:
        for name in ("a", "b"):
            writer.run(
                "tasks.insert", task=name, title="", requires_approval=0, max_retries=1, now=1
            )
        writer.run("task_needs.insert", task="b", on="a", until="landed")
        take_claim(writer)
    assert isinstance(store, Database)
    with pytest.raises(Conflict, match=r"counted|raised|not deleted"), store.write():
        store.execute(statement)
    assert store.execute("SELECT open_needs FROM tasks WHERE id = 'b'") == [{"open_needs": 1}]
    assert store.execute("SELECT task_id, epoch FROM claim_epochs") == [
        {"task_id": "x", "epoch": 1}
    ]


def test_a_renamed_claim_gets_the_next_epoch(store: Store) -> None:
    """A claim that is moved to another name by plain SQL raises the epoch of that name."""
    assert isinstance(store, Database)
    with store.write() as writer:
        take_claim(writer)
        store.execute("UPDATE task_claims SET task_id = 'y'")
        store.execute("UPDATE task_claims SET task_id = 'x'")
    found = store.execute("SELECT task_id, epoch FROM claim_epochs ORDER BY task_id")
    assert found == [{"task_id": "x", "epoch": 2}, {"task_id": "y", "epoch": 1}]


def take_claim(writer: Writer) -> None:
    """Insert a claim."""
    assert isinstance(writer, Database)
    writer.execute("INSERT INTO task_claims VALUES ('x', 'auth', 1, 2)")


def test_a_missing_store_is_unavailable(location: str) -> None:
    """Opening a store that does not exist is Unavailable, and creates nothing."""
    for _ in range(2):
        with pytest.raises(Unavailable):
            open_store(f"{location}-missing")
