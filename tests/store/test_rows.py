"""Rows as frozen dataclasses: they are read as they were written."""

from gitworker.model.task import LifecycleState, TaskStatus
from gitworker.store.sqlite.database import Database
from gitworker.store.tasks import (
    all_tasks,
    dependencies,
    find_task,
    open_dependencies,
    require_stored_task,
)

DEPEND = "INSERT INTO task_dependencies (task_id, depends_on) VALUES (:task, :on)"


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
