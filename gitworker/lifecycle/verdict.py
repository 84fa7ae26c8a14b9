"""Record the verdict on submitted work: APPROVED, or sent back with the reason."""

from collections.abc import Mapping

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.bus.publish import Outgoing, publish
from gitworker.errors import Conflict, Refused
from gitworker.lifecycle.moves import advance
from gitworker.lifecycle.rules import is_approved, is_stale, verification_ends
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.worker import ReturnReason, WorkerEvent
from gitworker.observe.next_step.next_command import read_next_command
from gitworker.repo.plumbing.refs import find_tip
from gitworker.repo.replay.replay import ReplayConflict
from gitworker.rules_text import count_text, quoted
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import Operation, close_operation
from gitworker.store.payloads.payload import ApproveData
from gitworker.store.records.reviews import record_review
from gitworker.store.tasks import find_task
from gitworker.store.workers import (
    Worker,
    load_worker,
    set_returned,
    set_review_state,
    set_stale_from,
    set_worker_error,
)


def publish_verdict(
    writer: Writer,
    judged: Worker | Operation,
    payload: Mapping[str, object],
    *,
    sender: str,
    blobs: str | None = None,
) -> str:
    """Send a worker the verdict on the task that it has submitted; return the message's id.

    `blobs` is as in `publish`.
    """
    return publish(
        writer,
        Outgoing(
            "review_result",
            sender=sender,
            to=judged.worker_id,
            correlation_id=judged.task_id,
            payload=payload,
        ),
        now=clock.now_ms(),
        blobs=blobs,
    )


def finish_approval(writer: Writer, operation: Operation) -> Worker:
    """Record an approval whose branch has moved: state, review and message."""
    data = operation.payload(ApproveData)
    worker = load_worker(writer, operation.worker_id)
    advance(
        writer,
        worker,
        WorkerEvent.APPROVE,
        actor=operation.actor,
        metadata={"commit": data.new, "reviewer": data.reviewer},
    )
    now = clock.now_ms()
    record_review(
        writer, operation.worker_id, operation.task_id, verdict="approved", commit=data.new,
        base=data.base, reviewer=data.reviewer, identity=data.identity, patches=data.patches,
        note=data.note, now=now,
    )  # fmt: skip
    set_review_state(writer, operation.worker_id, "approved")
    set_stale_from(writer, operation.worker_id, None)
    record_tip(writer, data.ref, data.new)
    publish_verdict(
        writer,
        operation,
        {
            "verdict": "approved",
            "commit": data.new,
            "reviewer": data.reviewer,
            "note": data.note,
        },
        sender=operation.actor,
    )
    close_operation(
        writer, operation.id, status="done", step="recorded", data=operation.data, now=now
    )
    return load_worker(writer, operation.worker_id)


def send_back(
    session: Session, worker: Worker, conflict: ReplayConflict, *, onto: str = "the target"
) -> Conflict:
    """Record that the branch conflicts with the commit it would land on; return the error."""
    files = list(conflict.paths)
    tip = _tip(session, worker)
    with session.store.write() as writer:
        current = load_worker(writer, worker.worker_id)
        if is_stale(current.state):
            current = advance(writer, current, WorkerEvent.RESUME_REVIEW, actor=session.actor)
        advance(
            writer,
            current,
            WorkerEvent.MERGE_CONFLICT,
            actor=session.actor,
            metadata={"files": files, "commit": conflict.commit},
        )
        set_review_state(writer, worker.worker_id, "changes_requested")
        set_stale_from(writer, worker.worker_id, None)
        facts = {"files": files, "commit": conflict.commit, "subject": conflict.subject}
        set_returned(
            writer, worker.worker_id, reason=ReturnReason.MERGE_CONFLICT, tip=tip, detail=facts
        )
        publish_verdict(writer, worker, {"verdict": "conflict", **facts}, sender=session.actor)
    with session.store.read() as reader:  # it may read the log of an agent: not in a write
        hint = read_next_command(session, reader, worker.worker_id, session.actor)
    publish_views(session, worker.worker_id)
    listed = "\n".join(f"  {name}" for name in files)
    return Conflict(
        f"{worker.branch} conflicts with {onto} in {count_text(len(files), 'file')} and was sent"
        f" back to worker {worker.worker_id}",
        hint,
        code="rebase_conflict",
        detail=f"{conflict.commit[:10]} {conflict.subject}\n{listed}",
    )


def send_back_failed(
    session: Session, worker: Worker, *, commit: str, onto: str, reason: str, log: str
) -> Refused:
    """Record that the verify commands fail on a worker's commits; return the error.

    `commit` was verified; `onto` passes without this worker's commits. If the task has no retries
    left, the worker has FAILED; otherwise it is WORKING again.
    """
    tip = _tip(session, worker)
    with session.store.write() as writer:
        current = load_worker(writer, worker.worker_id)
        task = None if current.task_id is None else find_task(writer, current.task_id)
        ends = task is not None and verification_ends(task.status, retries_left=task.retries_left)
        if ends and is_approved(current.state):  # a stop ends a review, not an approval
            current = advance(
                writer, current, WorkerEvent.APPROVAL_WITHDRAWN, actor=session.actor,
                metadata={"reason": reason},
            )  # fmt: skip
        advance(
            writer,
            current,
            WorkerEvent.STOP if ends else WorkerEvent.VERIFY_FAILED,
            actor=session.actor,
            task_event=WorkerEvent.VERIFY_FAILED.value,
            metadata={"commit": commit, "reason": reason, "log": log},
        )
        set_review_state(writer, worker.worker_id, "changes_requested")
        set_worker_error(writer, worker.worker_id, reason)
        facts = {"reason": reason, "log": log, "commit": commit, "onto": onto}
        if not ends:
            set_returned(
                writer, worker.worker_id, reason=ReturnReason.VERIFY_FAILED, tip=tip, detail=facts
            )
        publish_verdict(writer, worker, {"verdict": "verify_failed", **facts}, sender=session.actor)
    publish_views(session, worker.worker_id)
    name = worker.worker_id
    end = f"worker {name} has failed" if ends else f"it was sent back to worker {name}"
    return Refused(
        f"{worker.branch} does not pass: {reason}; {end}",
        f"less {quoted(log)}",
        code="verify_failed",
    )


def _tip(session: Session, worker: Worker) -> str:
    return find_tip(session.git, session.repository.common_dir, worker.ref) or ""
