"""Rows as frozen dataclasses: they are read as they were written."""

import pytest

from gitworker.model.ids import Oid, Ref
from gitworker.model.task import LifecycleState, TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.store.heartbeats import record_heartbeat, renew_heartbeat
from gitworker.store.operations import (
    advance_operation,
    begin_operation,
    close_operation,
    find_operation,
    undoable_operations,
    unfinished_operations,
)
from gitworker.store.payloads.payload import RemovalData, Unreadable
from gitworker.store.sqlite.database import Database
from gitworker.store.tasks import (
    all_tasks,
    dependencies,
    find_task,
    open_dependencies,
    require_stored_task,
)
from gitworker.store.workers import (
    add_worker,
    all_workers,
    find_worker,
    find_worker_of_branch,
    find_worker_of_task,
)

DEPEND = "INSERT INTO task_dependencies (task_id, depends_on) VALUES (:task, :on)"


def test_workers_are_found_by_branch_and_task(store: Database) -> None:
    """A worker is found by its id, its branch, and its task; the latest holder first."""
    with store.write() as writer:
        for now, name in enumerate(("auth", "docs")):
            added = add_worker(writer, name, now)
            assert (added.state, added.version, added.stale_from) == (WorkerState.IDLE, 0, None)
            writer.run(
                "workers.set_assignment",
                worker=name, task="t1", branch=f"{name}/t1", base_oid="b", worktree="/w",
                admin_dir="/a", now=now,
            )  # fmt: skip
        writer.run("workers.set_stale_from", worker="auth", stale_from="WORKING")
    with store.read() as reader:
        assert [worker.worker_id for worker in all_workers(reader)] == ["auth", "docs"]
        found = find_worker_of_task(reader, "t1")
        assert found is not None
        assert found.worker_id == "docs"
        by_branch = find_worker_of_branch(reader, "auth/t1")
        assert by_branch == find_worker(reader, "auth")
        assert by_branch is not None
        assert by_branch.stale_from is WorkerState.WORKING
        assert find_worker(reader, "x") is None
        assert find_worker_of_task(reader, "x") is None
        assert find_worker_of_branch(reader, "x") is None


def test_tasks_and_their_dependencies(store: Database) -> None:
    """A task waits for every dependency that is not COMPLETED, even a missing one."""
    with store.write() as writer:
        for name in ("a", "b"):
            writer.run(
                "tasks.insert", task=name, title="T", requires_approval=1, max_retries=2, now=7
            )
        for other in ("unmade", "b"):
            writer.execute(DEPEND, {"task": "a", "on": other})
        task = require_stored_task(writer, "a")
    assert (task.status, task.view.state) == (TaskStatus.DEFINED, LifecycleState.PENDING)
    assert (task.requires_approval, task.critical, task.created_at_ms) == (True, True, 7)
    assert task.retries_left
    with store.read() as reader:
        assert dependencies(reader, "a") == ["b", "unmade"]
        assert open_dependencies(reader, "a") == ["b", "unmade"]
        assert [found.id for found in all_tasks(reader)] == ["a", "b"]
        assert find_task(reader, "x") is None
    with store.write() as writer:
        writer.run("tasks.set_retry", task="a", retry_count=2, resume_after_ms=None)
        assert not require_stored_task(writer, "a").retries_left


def test_the_journal_of_operations(store: Database) -> None:
    """An operation is open from its first row to its end, and undoable only after success."""
    moved = RemovalData(Ref("refs/heads/w/t"), Oid("a"), None, None, None, submodules=[])
    with store.write() as writer:
        ids = [
            begin_operation(
                writer, kind, worker="w", task="t", actor="hq", now=1, data=Unreadable("{}")
            )
            for kind in ("reset", "cancel", "spawn")
        ]
        advance_operation(writer, ids[0], step="moved", data=moved, now=2)
    with store.read() as reader:
        first = unfinished_operations(reader)[0]
        assert [operation.id for operation in unfinished_operations(reader)] == ids
    assert (first.step, first.data, first.updated_at_ms) == ("moved", moved, 2)
    with store.write() as writer:
        for operation, status in zip(ids, ("done", "rolled_back", "done"), strict=True):
            close_operation(writer, operation, status=status, step="end", data=moved, now=3)
        advance_operation(writer, ids[0], step="late", data=moved, now=4)
    with store.read() as reader:
        assert unfinished_operations(reader) == []
        assert [operation.id for operation in undoable_operations(reader)] == ids[:1]
        ended = find_operation(reader, ids[0])
        assert ended is not None
        assert (ended.step, ended.status, ended.updated_at_ms) == ("end", "done", 3)
        assert find_operation(reader, 99) is None


def test_heartbeats_have_clock_readings(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heartbeat sets status and progress, a renewal keeps them, both with clock readings."""
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: 55)
    monkeypatch.setattr("gitworker.clock.now_ms", lambda: 1000)
    with store.write(durable=False) as writer:
        assert record_heartbeat(writer, "w", status="blocked", task="t", progress=0.25) == 1000
    monkeypatch.setattr("gitworker.clock.now_ms", lambda: 2000)
    with store.write(durable=False) as writer:
        assert renew_heartbeat(writer, "w", task="t") == 2000
        assert renew_heartbeat(writer, "v", task=None) == 2000
    with store.read() as reader:
        heartbeat = reader.row("liveness.of_agent", agent="w")
        rows = {row["agent_id"]: row for row in reader.rows("liveness.all")}
    assert heartbeat == rows["w"]
    assert (rows["w"]["status"], rows["w"]["progress"], rows["w"]["ts_ms"]) == (
        "blocked", 0.25, 2000,
    )  # fmt: skip
    assert (rows["w"]["mono_ms"], rows["v"]["status"]) == (55, "working")
