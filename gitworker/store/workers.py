"""Workers as stored: rows as named tuples."""

from typing import NamedTuple

from gitworker.errors import Unavailable
from gitworker.model.ids import Branch, Ref
from gitworker.model.ref_names import ref_of
from gitworker.model.worker import WorkerState
from gitworker.store.api import Reader, Row, Writer


class Worker(NamedTuple):
    """One worker's row. Times are epoch milliseconds."""

    worker_id: str
    state: WorkerState
    version: int
    state_changed_at_ms: int
    task_id: str | None
    branch: str | None
    base_oid: str | None
    worktree: str | None
    admin_dir: str | None
    assigned_at_ms: int | None
    pid: int | None
    pid_start: str | None
    host: str | None
    boot_id: str | None
    pid_ns: str | None
    stale_from: WorkerState | None
    last_error: str | None
    pr_url: str | None
    review_state: str | None

    @property
    def ref(self) -> Ref:
        """Return the full name of the branch; only for workers that have one."""
        return ref_of(Branch(self.branch or ""))


def find_worker(reader: Reader, worker: str) -> Worker | None:
    """Return the worker with this id, or None."""
    row = reader.row("workers.by_id", worker=worker)
    return None if row is None else _worker(row)


def load_worker(reader: Reader, worker: str) -> Worker:
    """Return a worker that was recorded; raise Unavailable if its row is missing."""
    found = find_worker(reader, worker)
    if found is None:
        raise Unavailable(f"the database has no row of worker {worker}", "git worker fsck")
    return found


def find_worker_of_task(reader: Reader, task: str) -> Worker | None:
    """Return the worker that holds a task, else the last one that held it, or None."""
    found = [_worker(row) for row in reader.rows("workers.by_task", task=task)]
    return found[0] if found else None


def find_worker_of_branch(reader: Reader, branch: str) -> Worker | None:
    """Return the worker of a branch, or None."""
    row = reader.row("workers.by_branch", branch=branch)
    return None if row is None else _worker(row)


def all_workers(reader: Reader) -> list[Worker]:
    """Return every worker by name."""
    return [_worker(row) for row in reader.rows("workers.all")]


def add_worker(writer: Writer, worker: str, now: int) -> Worker:
    """Insert an IDLE worker and return it."""
    writer.run("workers.insert", worker=worker, now=now)
    return load_worker(writer, worker)


def _worker(row: Row) -> Worker:
    values = dict(row)
    values["state"] = WorkerState(values["state"])
    stale_from = values["stale_from"]
    values["stale_from"] = WorkerState(stale_from) if stale_from else None
    return Worker(**values)
