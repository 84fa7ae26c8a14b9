"""A repository with workers in it, for tests of the bus and of liveness."""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitworker.app import open_session
from gitworker.liveness.start_daemon import lock_path
from gitworker.model.ids import TaskId, WorkerId
from gitworker.session import Session
from gitworker.store.sqlite.database import Database
from gitworker.store.tasks import StoredTask, find_task
from gitworker.store.workers import Worker, find_worker
from tests.conftest import git
from tests.workers.world import CWD_LOCK, is_locked, wait_until


@dataclass(frozen=True)
class Scene:
    """The main checkout of a repository on its target `main`."""

    root: Path

    def session(self, **options: Any) -> Session:
        """Open a session as a command started in the main checkout does."""
        with CWD_LOCK, contextlib.chdir(self.root):
            return open_session(**options)

    @property
    def state_dir(self) -> Path:
        """Return the state directory."""
        return self.root / ".git" / "worker-state"

    def spawn(self, worker: str, task: str) -> Path:
        """Spawn a worker and return its worktree."""
        from gitworker.workers.spawn import SpawnRequest, spawn

        return Path(spawn(self.session(), SpawnRequest(WorkerId(worker), TaskId(task))).path)

    def worker(self, name: str) -> Worker:
        """Return a worker's row."""
        with self.session().store.read() as reader:
            found = find_worker(reader, name)
        assert found is not None, name
        return found

    def task(self, name: str) -> StoredTask:
        """Return a task's row."""
        with self.session().store.read() as reader:
            found = find_task(reader, name)
        assert found is not None, name
        return found

    def messages(self, kind: str) -> list[dict[str, Any]]:
        """Return the payloads of the messages of one type, oldest first."""
        rows = self.execute(
            "SELECT payload FROM messages WHERE type = :kind ORDER BY seq", kind=kind
        )
        return [json.loads(row["payload"]) for row in rows]

    def execute(self, sql: str, **values: Any) -> list[Any]:
        """Run one statement on the bus through the store."""
        store = self.session().store
        assert isinstance(store, Database)
        return store.execute(sql, values)


def commit(place: Path, name: str, *options: str) -> str:
    """Commit one new file and return the commit's id."""
    (place / name).write_text(name)
    git(place, "add", "--", name)
    git(place, "commit", "-q", "-m", f"Add {name}", *options)
    return git(place, "rev-parse", "HEAD")


@contextlib.contextmanager
def no_heartbeat_daemon(scene: Scene) -> Iterator[None]:
    """Hold the lock of the heartbeat daemon, so that a test leaves no background process behind."""
    descriptor = os.open(lock_path(scene.session().paths), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        wait_until(lambda: is_locked(descriptor))  # a probe holds it for a moment
        yield
    finally:
        os.close(descriptor)
