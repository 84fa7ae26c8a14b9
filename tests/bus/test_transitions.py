"""Changing a state: row, transition, log lines and message, all of them or none."""

import json
from typing import Any

import pytest

from gitworker.bus.transitions import move_task, move_worker, transition_time
from gitworker.errors import Conflict
from gitworker.model.task import LifecycleState, TaskEvent, TaskStatus
from gitworker.model.worker import WorkerEvent, WorkerState
from gitworker.states import InvalidTransition
from gitworker.store.sqlite.database import Database
from gitworker.store.tasks import StoredTask, require_stored_task
from gitworker.store.workers import Worker, add_worker, find_worker

TABLES = ("workers", "tasks", "transitions", "messages")


@pytest.fixture
def worker(store: Database) -> Worker:
    """An IDLE worker."""
    with store.write() as writer:
        return add_worker(writer, "auth", 1)


@pytest.fixture
def task(store: Database) -> StoredTask:
    """A DEFINED task with one retry."""
    with store.write() as writer:
        writer.run("tasks.insert", task="t", title="", requires_approval=0, max_retries=1, now=1)
        return require_stored_task(writer, "t")


def everything(store: Database) -> dict[str, list[Any]]:
    """Return all rows that a transition touches."""
    return {table: store.execute(f"SELECT * FROM {table}") for table in TABLES}


def transitions(store: Database) -> list[Any]:
    """Return the transitions, oldest first."""
    return store.execute("SELECT * FROM transitions ORDER BY seq")


def test_a_workers_move_is_row_log_and_message(store: Database, worker: Worker) -> None:
    """One call changes the row, writes the transition with its log line, publishes the message."""
    with store.write() as writer:
        moved = move_worker(
            writer, worker, WorkerEvent.ASSIGN, actor="hq", metadata={"branch": "auth/t"}
        )
    assert (moved.state, moved.version) == (WorkerState.ASSIGNED, 1)
    with store.read() as reader:
        assert find_worker(reader, "auth") == moved
        (message,) = reader.rows("messages.follow", after=0, limit=9)
    (row,) = transitions(store)
    assert (row["from_state"], row["event"], row["to_state"]) == ("IDLE", "assign", "ASSIGNED")
    assert (row["actor"], row["version"], row["entity_id"]) == ("hq", 1, "auth")
    facts = {"task_id": None, "actor": "hq", "branch": "auth/t"}
    assert json.loads(row["metadata"]) == facts
    (line,) = json.loads(row["lines"])
    assert line["event_type"] == "seat_state_transition"
    assert (message["type"], message["from_agent"]) == ("state_change", "hq")
    assert json.loads(message["payload"]) == {
        "worker": "auth", "from": "IDLE", "to": "ASSIGNED", "event": "assign", "branch": "auth/t",
    }  # fmt: skip
    assert message["ts_ms"] == row["ts_ms"] == moved.state_changed_at_ms


def test_a_tasks_moves_are_one_transition_each(store: Database, task: StoredTask) -> None:
    """Events are fired in order, each a row, with the lifecycle view's lines."""
    events = (TaskEvent.DEPS_MET, TaskEvent.ASSIGNED, TaskEvent.AGENT_STARTED)
    with store.write() as writer:
        moved = move_task(writer, task, events, actor="hq")
    assert (moved.status, moved.version) == (TaskStatus.IN_PROGRESS, 3)
    assert moved.view.state is LifecycleState.RUNNING
    assert moved.started_at_ms is not None
    assert [row["event"] for row in transitions(store)] == list(events)
    lines = [line for row in transitions(store) for line in json.loads(row["lines"])]
    assert [(line["from_state"], line["to_state"]) for line in lines] == [
        ("pending", "queued"), ("queued", "running"),
    ]  # fmt: skip
    assert {line["event_type"] for line in lines} == {"task_state_transition"}


def test_an_illegal_move_changes_nothing(store: Database, worker: Worker, task: StoredTask) -> None:
    """If the machine refuses, no row of the whole transaction stays."""
    before = everything(store)

    def move_both() -> None:
        with store.write() as writer:
            move_worker(writer, worker, WorkerEvent.ASSIGN, actor="hq")
            move_task(writer, task, (TaskEvent.DEPS_MET, TaskEvent.PR_MERGED), actor="hq")

    with pytest.raises(InvalidTransition):
        move_both()
    with pytest.raises(InvalidTransition), store.write() as writer:
        move_worker(writer, worker, WorkerEvent.MERGE, actor="hq")
    assert everything(store) == before


def test_a_move_from_a_row_read_earlier_is_a_conflict(
    store: Database, worker: Worker, task: StoredTask
) -> None:
    """Moving a row that changed since it was read raises Conflict and overwrites nothing."""
    with store.write() as writer:
        moved = move_worker(writer, worker, WorkerEvent.ASSIGN, actor="hq")
        move_worker(writer, moved, WorkerEvent.CANCEL, actor="hq")
        move_task(writer, task, (TaskEvent.DEPS_MET,), actor="hq")
    before = everything(store)
    with pytest.raises(Conflict), store.write() as writer:
        move_worker(writer, worker, WorkerEvent.ASSIGN, actor="late")
    with pytest.raises(Conflict), store.write() as writer:
        move_task(writer, task, (TaskEvent.DEPS_MET,), actor="late")
    assert everything(store) == before


def test_the_time_of_the_log_never_decreases(
    store: Database, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the wall clock is set back, the log's time does not change until it catches up."""
    for clock_ms, event in ((5000, "ASSIGN"), (3000, "START"), (4999, "FAIL"), (6000, "RESET")):
        monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock_ms))
        with store.write() as writer:
            worker = move_worker(writer, worker, WorkerEvent[event], actor="hq")
    assert [row["ts_ms"] for row in transitions(store)] == [5000, 5000, 5000, 6000]
    stamps = [json.loads(row["lines"])[0]["timestamp"] for row in transitions(store)]
    assert stamps == sorted(stamps)
    with store.read() as reader:
        assert transition_time(reader) == 6000  # type: ignore[arg-type]


def test_counters_and_times_of_a_task(
    store: Database, task: StoredTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retries and recoveries are counted; the first start and the completion are timed."""

    def fire(at_ms: int, *events: TaskEvent) -> StoredTask:
        monkeypatch.setenv("GITWORKER_CLOCK_MS", str(at_ms))
        with store.write() as writer:
            return move_task(writer, require_stored_task(writer, "t"), events, actor="hq")

    begin = (TaskEvent.ASSIGNED, TaskEvent.AGENT_STARTED)
    fire(10, TaskEvent.DEPS_MET, *begin)
    assert fire(20, TaskEvent.RECOVERY).recovery_count == 1
    found = fire(30, *begin, TaskEvent.AGENT_FAILED, TaskEvent.RETRY)
    assert (found.retry_count, found.retries_left, found.started_at_ms) == (1, False, 10)
    found = fire(40, *begin, TaskEvent.AGENT_COMPLETED, TaskEvent.VERIFY_PASSED)
    assert (found.recovery_count, found.completed_at_ms) == (0, 40)
    assert (found.status, found.view.state) == (TaskStatus.COMPLETED, LifecycleState.COMPLETED)
    last = json.loads(transitions(store)[-1]["lines"])[0]["metadata"]
    assert last["duration_seconds"] == 0.03
    assert (last["retry_count"], last["max_retries"]) == (1, 1)


def test_a_restart_opens_the_next_incarnation(store: Database, task: StoredTask) -> None:
    """A task that starts again continues in the log under its next name."""
    events = (TaskEvent.DEPS_MET, TaskEvent.USER_CANCELLED, TaskEvent.ADMIN_RESTART)
    with store.write() as writer:
        moved = move_task(writer, task, events, actor="hq")
    assert (moved.view.incarnation, moved.view.state) == (2, LifecycleState.QUEUED)
    lines = [line for row in transitions(store) for line in json.loads(row["lines"])]
    assert [line["entity_id"] for line in lines] == ["t", "t", "t#2"]
