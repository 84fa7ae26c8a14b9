"""Workers as stored: rows as named tuples."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from gitworker.errors import Refused, Unavailable
from gitworker.model.ids import Branch, Oid, Origin, Ref, TaskId, WorkerId
from gitworker.model.ref_names import ref_of
from gitworker.model.worker import ReturnReason, WorkerState
from gitworker.store.api import Reader, Row, Writer


class Worker(NamedTuple):
    """One worker's row. Times are epoch milliseconds.

    `lands_on` is the branch of its task's workstream, None if the task lands on the target.
    `elsewhere` is the other machine of the fleet that has its worktree, None if it is this one.
    """

    worker_id: WorkerId
    state: WorkerState
    version: int
    state_changed_at_ms: int
    task_id: TaskId | None
    branch: Branch | None
    base_oid: Oid | None
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
    returned_by: str | None = None
    returned_tip: Oid | None = None
    returned_detail: str | None = None
    waits_for_author: bool = False
    lands_on: Ref | None = None
    elsewhere: str | None = None

    @property
    def ref(self) -> Ref:
        """Return the full name of the branch; only for workers that have one."""
        return ref_of(self.branch or Branch(""))

    @property
    def task(self) -> TaskId:
        """Return the task's id; empty for a worker that has none."""
        return self.task_id or TaskId("")

    @property
    def words(self) -> str:
        """Return the state in words: "is in review"."""
        from gitworker.states.worker_machine import (
            state_words,  # 5 ms, which the hooks of agents do not pay
        )

        return state_words(self.state, self.stale_from, waits_for_author=self.waits_for_author)

    @property
    def in_words(self) -> str:
        """Return the worker with its state in words: "auth is in review"."""
        return f"{self.worker_id} {self.words}"


def on_another_machine(worker: Worker) -> Refused | None:
    """Return the refusal of a command that needs a worktree on another machine of the fleet."""
    if worker.elsewhere is None:
        return None
    return Refused(
        f"the worktree of {worker.worker_id} is on the machine {worker.elsewhere}",
        f"git worker show {worker.worker_id}   # run the command there",
        code="on_another_machine",
    )


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


def workers_assigned_by(reader: Reader, actor: str) -> frozenset[str]:
    """Return the ids of the workers that got their last task from an actor."""
    return frozenset(row["worker_id"] for row in reader.rows("workers.assigned_by", actor=actor))


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


def unpublished_workers(reader: Reader, log: str) -> list[str]:
    """Return the workers with transitions that are not in a log file yet."""
    return [row["entity_id"] for row in reader.rows("exports.untold_workers", log=log)]


def add_worker(writer: Writer, worker: str, now: int) -> Worker:
    """Insert an IDLE worker and return it."""
    writer.run("workers.insert", worker=worker, now=now)
    return load_worker(writer, worker)


def set_assignment(
    writer: Writer,
    worker: str,
    *,
    task: str,
    branch: str,
    base_oid: str | None,
    worktree: str | None,
    admin_dir: str | None,
    now: int,
) -> None:
    """Record the task, branch and worktree of a worker; its process and review are cleared."""
    writer.run(
        "workers.set_assignment",
        worker=worker, task=task, branch=branch, base_oid=base_oid, worktree=worktree,
        admin_dir=admin_dir, now=now,
    )  # fmt: skip


def clear_assignment(writer: Writer, worker: str) -> None:
    """Record that a worker has no task, branch, worktree and process."""
    writer.run("workers.clear_assignment", worker=worker)


def set_process(
    writer: Writer, worker: str, *, pid: int, start: str | None, origin: Origin
) -> None:
    """Record the process of a worker: its pid, its start time, and where the pid is valid."""
    host, boot_id, pid_ns = origin
    writer.run(
        "workers.set_process",
        worker=worker, pid=pid, pid_start=start, host=host, boot_id=boot_id, pid_ns=pid_ns,
    )  # fmt: skip


def forget_process(writer: Writer, worker: str) -> None:
    """Record that no process of a worker is known."""
    writer.run(
        "workers.set_process",
        worker=worker, pid=None, pid_start=None, host=None, boot_id=None, pid_ns=None,
    )  # fmt: skip


def set_worker_error(writer: Writer, worker: str, error: str | None) -> None:
    """Record the reason of a worker's failure; None once it is at work again."""
    writer.run("workers.set_error", worker=worker, error=error)


def set_stale_from(writer: Writer, worker: str, state: WorkerState | None) -> None:
    """Record the state before STALE; None if the worker is not STALE."""
    writer.run("workers.set_stale_from", worker=worker, stale_from=state)


def set_review_state(writer: Writer, worker: str, review_state: str) -> None:
    """Record the state of a worker's review: pending, approved or changes_requested."""
    writer.run("workers.set_review", worker=worker, review_state=review_state)


def set_returned(
    writer: Writer, worker: str, *, reason: ReturnReason, tip: str, detail: Mapping[str, object]
) -> None:
    """Record that work was sent back, why and at which tip; it waits for its author."""
    writer.run(
        "workers.set_returned",
        worker=worker, returned_by=reason, returned_tip=tip, returned_detail=json.dumps(detail),
    )  # fmt: skip


def set_author_back(writer: Writer, worker: str) -> None:
    """Record that a process or a command works on returned work again; silence counts again."""
    writer.run("workers.set_author_back", worker=worker)


def clear_returned(writer: Writer, worker: str) -> None:
    """Forget why work was sent back: it was handed in again."""
    writer.run("workers.clear_returned", worker=worker)


def settle_conflict(writer: Writer, worker: str) -> None:
    """Record that the conflict for which work was sent back is settled: the branch is rebased."""
    writer.run("workers.settle_conflict", worker=worker)


def set_pr_url(writer: Writer, worker: Worker, pr_url: str) -> None:
    """Record the address of the pull request of a worker and its task."""
    writer.run("workers.set_pr", worker=worker.worker_id, pr_url=pr_url)
    writer.run("tasks.set_pr", task=worker.task, pr_url=pr_url)


def set_worktree(
    writer: Writer, worker: str, worktree: str | None, *, admin_dir: str | None
) -> None:
    """Record the path of a worker's worktree and git's directory for it."""
    writer.run("workers.set_worktree", worker=worker, worktree=worktree, admin_dir=admin_dir)


def _worker(row: Row) -> Worker:
    values = dict(row)
    values["state"] = WorkerState(values["state"])
    stale_from = values["stale_from"]
    values["stale_from"] = WorkerState(stale_from) if stale_from else None
    values["waits_for_author"] = bool(values["waits_for_author"])
    return Worker(**values)
