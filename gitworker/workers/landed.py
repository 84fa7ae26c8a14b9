"""What follows once the target has moved: the record, then the worktree and the branch away."""

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.model.worker import WorkerEvent
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import Operation, close_operation
from gitworker.store.workers import Worker, find_worker
from gitworker.workers.moves import advance, release_task
from gitworker.workers.removal import finish_removal, occupants, plan_removal
from gitworker.workers.views import publish_views


def finish_merge(writer: Writer, operation: Operation) -> Worker:
    """Record a landing whose target has moved: COMPLETED, the landing's row, the message."""
    data = operation.data
    worker = find_worker(writer, operation.worker_id)
    assert worker is not None
    now = clock.now_ms()
    worker = advance(
        writer, worker, WorkerEvent.MERGE, actor=operation.actor,
        metadata={"commit": data["new"], "target": data["target_ref"]},
    )  # fmt: skip
    writer.run(
        "operations.land",
        operation=operation.id, worker=operation.worker_id, task=operation.task_id,
        branch=worker.branch, target_ref=data["target_ref"], target_old=data["target_old"],
        target_new=data["new"], branch_old=data["old"], now=now,
    )  # fmt: skip
    record_tip(writer, data["ref"], data["new"])
    record_tip(writer, data["target_ref"], data["new"])
    release_task(writer, worker)
    close_operation(writer, operation.id, status="done", step="recorded", data=data, now=now)
    return worker


def clean_up(session: Session, worker: Worker, *, keep: bool) -> tuple[str | None, str | None]:
    """Remove a landed worker's worktree and branch; return what was kept and why."""
    if keep or worker.worktree is None:
        publish_views(session, worker.worker_id)
        return worker.worktree, "--keep" if worker.worktree else None
    pids = occupants(worker)
    if pids:
        publish_views(session, worker.worker_id)
        return worker.worktree, f"process {pids[0]} has its working directory there"
    finish_removal(session, plan_removal(session, worker, "remove"))
    return None, None
