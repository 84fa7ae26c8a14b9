"""What follows once the target has moved: the record, then the worktree and the branch away."""

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.errors import GitWorkerError
from gitworker.model.ids import Branch, ref_of
from gitworker.model.worker import WorkerEvent
from gitworker.repo.refs import is_ancestor, read_refs
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import Operation, advance_operation, close_operation
from gitworker.store.workers import Worker, find_worker
from gitworker.workers.moves import advance, release_task
from gitworker.workers.removal import finish_removal, is_locked, occupants, plan_removal
from gitworker.workers.views import publish_views

RECORDED = "recorded"  # the step of a landing that is told, but not cleaned up


def finish_merge(writer: Writer, operation: Operation) -> Worker:
    """Record a landing whose target has moved: COMPLETED, the landing's row, the message.

    The act stays open, as `recorded`, until what landed is cleaned up.
    """
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
    advance_operation(writer, operation.id, step=RECORDED, data=data, now=now)
    return worker


def close_merge(session: Session, operation: Operation) -> None:
    """End a landing's journal, once everything of it is done."""
    with session.store.write() as writer:
        close_operation(
            writer, operation.id, status="done", step=RECORDED, data=operation.data,
            now=clock.now_ms(),
        )  # fmt: skip


def clean_up(session: Session, worker: Worker, *, keep: bool) -> tuple[str | None, str | None]:
    """Remove a landed worker's worktree and branch; return what was kept and why."""
    why = "--keep" if keep else _reason_to_keep(session, worker)
    if worker.worktree is not None and why is None:
        try:
            finish_removal(session, plan_removal(session, worker, "remove"))
            return None, None
        except GitWorkerError as error:  # it has landed: what cannot go stays, and that is said
            why = error.message
    publish_views(session, worker.worker_id)
    return worker.worktree, why if worker.worktree else None


def _reason_to_keep(session: Session, worker: Worker) -> str | None:
    pids = occupants(worker)
    if pids:
        return f"process {pids[0]} has its working directory there"
    if is_locked(worker):
        return "it is locked (git worktree unlock)"
    refs = read_refs(session.git, [session.target, ref_of(Branch(worker.branch or ""))])
    target = refs.pop(session.target, None)
    for tip in refs.values():
        if target is None or not is_ancestor(session.git, tip, target):
            return "its branch has commits that have not landed"
    return None
