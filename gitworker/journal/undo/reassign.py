"""Give a worker its former task again, in the state before the undone operation."""

import json
from typing import NamedTuple

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.claims.leases import take_claim
from gitworker.journal.undo.rules_undo import events_back, review_state_of
from gitworker.lifecycle.moves import advance, advance_task, release_task, schedule_retry
from gitworker.lifecycle.rules import has_failed, is_landed
from gitworker.lifecycle.rules_take_up import is_at_work
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import short_name
from gitworker.model.worker import ReturnReason, WorkerEvent, WorkerState
from gitworker.repo.worktrees.worktree_list import find_admin_dir
from gitworker.session import Session
from gitworker.states.task_moves import WorkerTaskEvent
from gitworker.store.api import Writer
from gitworker.store.records.reviews import find_review
from gitworker.store.rules_leases import LeaseLength
from gitworker.store.tasks import assign_task, require_stored_task
from gitworker.store.workers import (
    Worker,
    load_worker,
    set_assignment,
    set_returned,
    set_review_state,
    set_worker_error,
)


class StateBefore(NamedTuple):
    """The state of a worker before an operation, and the error of a failed one.

    `returned_by` and `returned_detail` are the reason of work that was sent back.
    """

    state: WorkerState
    stale_from: WorkerState | None = None
    error: str | None = None
    returned_by: str | None = None
    returned_detail: str | None = None


class RestoredWorker(NamedTuple):
    """The worker that is restored: task, branch and tip, base, worktree, and its former state."""

    worker_id: str
    task_id: str
    ref: Ref
    tip: Oid | None
    base: str | None
    worktree: str | None
    before: StateBefore


def assign_again(session: Session, writer: Writer, restored: RestoredWorker, *, actor: str) -> None:
    """Give a free worker its former task and state, by legal events of both machines.

    A worker that was approved is approved again if an approval is the last verdict on its task, and
    otherwise in review.
    """
    if restored.tip:
        record_tip(writer, restored.ref, restored.tip)
    worker = load_worker(writer, restored.worker_id)
    if is_landed(worker.state):
        advance(writer, worker, WorkerEvent.RECYCLE, actor=actor)
    branch = short_name(restored.ref)
    set_assignment(
        writer, restored.worker_id, task=restored.task_id, branch=branch, base_oid=restored.base,
        worktree=restored.worktree, admin_dir=admin_dir_of(session, restored), now=clock.now_ms(),
    )  # fmt: skip
    length = LeaseLength(session.settings.claims_lease_s * 1000)
    take_claim(writer, restored.task_id, restored.worker_id, length=length)
    status = require_stored_task(writer, restored.task_id).status
    assign_task(writer, restored.task_id, agent=restored.worker_id, branch=branch)
    worker = load_worker(writer, restored.worker_id)
    advance_task(writer, worker, WorkerTaskEvent.UNDO, actor=actor)
    before = restored.before
    for event in events_back(
        before.state, before.stale_from, approved=_is_approved(writer, restored), task=status
    ):
        worker = advance(writer, worker, event, actor=actor, metadata={"reason": "undo"})
    _record_state(session, writer, worker, restored)


def _is_approved(writer: Writer, restored: RestoredWorker) -> bool:
    """Return whether the last verdict on the task approved it, and its commits exist."""
    review = find_review(writer, restored.worker_id, restored.task_id)
    return restored.tip is not None and review is not None and review.verdict == "approved"


def _record_state(
    session: Session, writer: Writer, worker: Worker, restored: RestoredWorker
) -> None:
    """Record the details of the state that the worker has again."""
    name = restored.worker_id
    review_state = review_state_of(worker.state)
    if review_state is not None:
        set_review_state(writer, name, review_state)
    elif is_at_work(worker.state):
        before = restored.before
        reason = ReturnReason(before.returned_by or ReturnReason.WITHDRAWN)
        detail = json.loads(before.returned_detail or "{}")
        set_returned(writer, name, reason=reason, tip=restored.tip or "", detail=detail)
    elif has_failed(worker.state):
        if restored.before.error:
            set_worker_error(writer, name, restored.before.error)
        delay_s = session.settings.task_retry_delay_s
        schedule_retry(writer, worker, now=clock.now_ms(), delay_s=delay_s)
        release_task(writer, worker)


def admin_dir_of(session: Session, restored: RestoredWorker) -> str | None:
    """Return git's directory of the restored worktree."""
    return restored.worktree and find_admin_dir(session.repository.common_dir, restored.worktree)
