"""Send a review: all drafts of a reviewer, and the verdict, in one message to the author."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.crashpoint import crash_point
from gitworker.errors import Refused
from gitworker.lifecycle.moves import advance
from gitworker.lifecycle.rules import is_approved
from gitworker.lifecycle.rules_take_up import is_at_work
from gitworker.lifecycle.state_files import publish_views
from gitworker.lifecycle.verdict import publish_verdict
from gitworker.model.ids import HQ
from gitworker.model.worker import ReturnReason, WorkerEvent
from gitworker.progress import Notice
from gitworker.repo.plumbing.refs import read_refs
from gitworker.review.comments.draft import require_judge
from gitworker.review.comments.move import move_comment
from gitworker.review.comments.open_comments import comment_facts
from gitworker.review.comments.rules_steps import is_draft, is_reopened
from gitworker.review.reviewer import reviewer_of_record
from gitworker.review.rounds import find_round, require_round, require_seen
from gitworker.states.comment_machine import CommentEvent
from gitworker.store.records.reviews import record_review
from gitworker.store.reviewing.comments import (
    Comment,
    NewComment,
    add_comment,
    comments_of,
    set_message,
)
from gitworker.store.workers import (
    Worker,
    load_worker,
    set_returned,
    set_review_state,
    set_stale_from,
)

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Writer
    from gitworker.store.reviewing.rounds import Round

CHANGES_REQUESTED, COMMENTED = "changes_requested", "commented"


@dataclass(frozen=True, slots=True)
class SentReview:
    """A review that was sent: the worker, the verdict, and the published comments."""

    worker: Worker
    verdict: str
    comments: tuple[Comment, ...]


def send(
    session: Session,
    name: str,
    *,
    verdict: str = COMMENTED,
    note: str = "",
    may_be_empty: bool = False,
    at: str | None = None,
) -> SentReview:
    """Publish the caller's drafts and the comments that it reopened as one message to the author.

    `verdict` is COMMENTED or CHANGES_REQUESTED, which sends the work back as `reject` does. `note`
    becomes a comment on the round as a whole. `at` is the tip of the round that the reviewer has
    seen. Raises Refused if there is nothing to send, unless `may_be_empty`; Conflict if a request
    for changes is about another round than the newest.
    """
    worker = require_judge(session, name)
    if verdict == CHANGES_REQUESTED and at is not None:
        require_seen(session, worker, at)
    if verdict == CHANGES_REQUESTED and not _is_returned(worker):
        return _request_changes(session, worker, note=note)
    reviewer = reviewer_of_record(session)
    round = find_round(session, worker) if may_be_empty else require_round(session, worker)
    draft = _new_draft(session, worker, round, note=note, reviewer=reviewer)
    with session.store.write() as writer:
        drafts = _drafts(writer, session, worker, draft=draft)
        if not drafts and may_be_empty:
            return SentReview(worker, verdict, ())
        if not drafts:
            raise Refused(
                f"there is no draft for worker {worker.worker_id}",
                f"git worker review comment {worker.worker_id} -m <text>",
                code="nothing_to_send",
            )
        payload = {"verdict": verdict, "note": _note(drafts), "reviewer": reviewer}
        sent = _publish(writer, session, worker, drafts, payload=payload)
    crash_point("review.sent")
    return SentReview(worker, verdict, sent)


def reject(session: Session, name: str, *, note: str) -> Worker:
    """Request changes of a submission: IN_REVIEW→WORKING, with a message on the bus.

    The note is a comment on the round as a whole, sent with the caller's drafts. An approval is
    withdrawn first. Work that was sent back by such a request stays as it is.
    """
    worker = require_judge(session, name)
    if _is_returned(worker):
        session.report(
            Notice(
                f"worker {worker.worker_id} was sent back already: nothing changed;"
                f" to add a note: git worker send {worker.worker_id} <text>"
            )
        )
        return worker
    return _request_changes(session, worker, note=note).worker


def _is_returned(worker: Worker) -> bool:
    return worker.returned_by == ReturnReason.CHANGES_REQUESTED and is_at_work(worker.state)


def _request_changes(session: Session, worker: Worker, *, note: str) -> SentReview:
    reviewer = reviewer_of_record(session)
    tip = read_refs(session.git, [worker.ref]).get(worker.ref, "")
    round = find_round(session, worker)
    now = clock.now_ms()
    draft = _new_draft(session, worker, round, note=note, reviewer=reviewer)
    with session.store.write() as writer:
        drafts = _drafts(writer, session, worker, draft=draft)
        note = note if round is None else _note(drafts)
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
            writer, worker.worker_id, worker.task_id, verdict=CHANGES_REQUESTED, commit=tip,
            reviewer=reviewer, identity=session.actor, note=note, now=now,
        )  # fmt: skip
        set_review_state(writer, worker.worker_id, CHANGES_REQUESTED)
        set_stale_from(writer, worker.worker_id, None)
        facts = {"note": note, "reviewer": reviewer}
        set_returned(
            writer, worker.worker_id, reason=ReturnReason.CHANGES_REQUESTED, tip=tip, detail=facts
        )
        payload = {"verdict": CHANGES_REQUESTED, **facts}
        sent = _publish(writer, session, worker, drafts, payload=payload)
        stored = load_worker(writer, worker.worker_id)
    crash_point("review.sent")
    publish_views(session, worker.worker_id)
    return SentReview(stored, CHANGES_REQUESTED, sent)


def _new_draft(
    session: Session, worker: Worker, round: Round | None, *, note: str, reviewer: str
) -> NewComment | None:
    """Return the note as a draft on the round as a whole; None without a note or a round."""
    if not note or round is None:
        return None
    name = reviewer if session.actor == HQ else session.actor
    return NewComment(worker.worker_id, worker.task, round.number, session.actor, name, note)


def _drafts(
    writer: Writer, session: Session, worker: Worker, *, draft: NewComment | None
) -> list[Comment]:
    """Return the caller's drafts, `draft` as the last, and the comments that it reopened.

    A comment that was reopened is included until its author handles it.
    """
    if draft is not None:
        add_comment(writer, draft, now=clock.now_ms())
    return [
        one
        for one in comments_of(writer, worker.worker_id, worker.task_id)
        if (is_reopened(one.state) and one.reopened_by == session.actor)
        or (is_draft(one.state) and one.identity == session.actor)
    ]


def _publish(
    writer: Writer, session: Session, worker: Worker, drafts: list[Comment], *,
    payload: dict[str, str],
) -> tuple[Comment, ...]:  # fmt: skip
    """Send the drafts with the verdict; each comment remembers the message that delivers it."""
    sent = [
        move_comment(writer, one, CommentEvent.SEND, actor=session.actor)
        if is_draft(one.state) else one
        for one in drafts
    ]  # fmt: skip
    facts: dict[str, Any] = dict(payload)
    if sent:
        facts["comments"] = [comment_facts(one) for one in sent]
    message = publish_verdict(
        writer, worker, facts, sender=session.actor, blobs=session.paths.blobs
    )
    for one in sent:
        set_message(writer, one, message)
    crash_point("review.published")
    return tuple(one._replace(message_id=message) for one in sent)


def _note(drafts: list[Comment]) -> str:
    """Return the words on the round as a whole."""
    return "\n\n".join(one.text for one in drafts if one.place is None)
