"""reject, and the reviewer that is recorded with a verdict."""

import os

from gitworker import clock
from gitworker.errors import Refused
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.moves import advance
from gitworker.lifecycle.rules import is_approved, may_judge
from gitworker.lifecycle.rules_take_up import is_at_work
from gitworker.lifecycle.state_files import publish_views
from gitworker.lifecycle.verdict import publish_verdict
from gitworker.model.worker import ReturnReason, WorkerEvent
from gitworker.progress import Notice
from gitworker.repo.plumbing.git import GitFailed
from gitworker.repo.plumbing.refs import read_refs
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.session import Session
from gitworker.store.records.reviews import record_review
from gitworker.store.workers import (
    Worker,
    load_worker,
    set_returned,
    set_review_state,
    set_stale_from,
)


def reviewer_of_record(session: Session, memory: ReplayCache | None = None) -> str:
    """Return git's user as `Name <mail>`; raise Refused if git has no user.

    `memory` may have git's answer already.
    """
    try:
        ident = os.fsdecode((memory or ReplayCache()).committer(session.git))
    except GitFailed as failure:
        raise Refused(
            "git does not know who you are, and a review needs a name",
            "git config user.name <name> && git config user.email <mail>",
            detail=failure.detail,
        ) from failure
    return ident.rpartition(">")[0] + ">"


def reject(session: Session, name: str, *, note: str) -> Worker:
    """Request changes of a submission: IN_REVIEW→WORKING, with a message on the bus.

    An approval is withdrawn first. Work that was sent back by such a request stays as it is.
    """
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
    refusal = may_judge(session.actor, worker.worker_id, self_review=session.settings.review_self)
    if refusal is not None:
        raise refusal
    if worker.returned_by == ReturnReason.CHANGES_REQUESTED and is_at_work(worker.state):
        session.report(
            Notice(
                f"worker {worker.worker_id} was sent back already: nothing changed;"
                f" to add a note: git worker send {worker.worker_id} <text>"
            )
        )
        return worker
    reviewer = reviewer_of_record(session)
    ref = worker.ref
    tip = read_refs(session.git, [ref]).get(ref, "")
    now = clock.now_ms()
    with session.store.write() as writer:
        if is_approved(worker.state):
            worker = advance(
                writer, worker, WorkerEvent.APPROVAL_WITHDRAWN, actor=session.actor,
                metadata={"reason": "changes requested"},
            )  # fmt: skip
        advance(
            writer, worker, WorkerEvent.REQUEST_CHANGES, actor=session.actor,
            metadata={"note": note},
        )  # fmt: skip
        record_review(
            writer, worker.worker_id, worker.task_id, verdict="changes_requested", commit=tip,
            reviewer=reviewer, identity=session.actor, note=note, now=now,
        )  # fmt: skip
        set_review_state(writer, worker.worker_id, "changes_requested")
        set_stale_from(writer, worker.worker_id, None)
        facts = {"note": note, "reviewer": reviewer}
        set_returned(
            writer, worker.worker_id, reason=ReturnReason.CHANGES_REQUESTED, tip=tip, detail=facts
        )
        publish_verdict(
            writer,
            worker,
            {"verdict": "changes_requested", **facts},
            sender=session.actor,
        )
        stored = load_worker(writer, worker.worker_id)
    publish_views(session, worker.worker_id)
    return stored
