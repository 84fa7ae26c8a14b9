"""The end of a comment: handled by its author, resolved or reopened by a reviewer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.lifecycle.rules import may_judge
from gitworker.model.ids import Branch
from gitworker.model.ref_names import ref_of
from gitworker.progress import Notice
from gitworker.repo.plumbing.refs import find_ref
from gitworker.review.comments.draft import require_comment
from gitworker.review.comments.move import move_comment
from gitworker.review.comments.rules_steps import (
    answer_refusal,
    delivery_refusal,
    handle_refusal,
    is_reopened,
    repeats,
    require_step,
)
from gitworker.states.comment_machine import CommentEvent
from gitworker.store.reviewing.comments import set_answer, set_reply
from gitworker.store.reviewing.rounds import rounds_of
from gitworker.store.workers import find_worker

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.reviewing.comments import Comment


def handle(
    session: Session, number: int, *, answer: str = "", commit: str | None = None
) -> Comment:
    """Record that the author has handled a comment, by a commit or by an answer.

    `commit` is by default the tip of the worker's branch. Raises Refused if nothing was committed
    since the comment's round and there is no answer.
    """
    with session.store.read() as reader:
        found = require_comment(reader, session, number)
        worker = find_worker(reader, found.worker_id)
        rounds = rounds_of(reader, found.worker_id, found.task_id)
    refusal = handle_refusal(session.actor, found.worker_id, number)
    if refusal is not None:
        raise refusal
    if not answer and _is_repeated(session, found, CommentEvent.HANDLE):
        return found
    require_step(number, found.worker_id, found.state, CommentEvent.HANDLE)
    sent_on = next((one.tip for one in rounds if one.number == found.round), None)
    tip = None
    if commit is not None:
        tip = session.git.require_oid(commit)
    elif worker is not None and worker.branch and worker.task_id == found.task_id:
        tip = find_ref(session.git, ref_of(Branch(worker.branch)))
    refusal = answer_refusal(number, has_commit=tip not in (None, sent_on), answer=answer)
    if refusal is not None:
        raise refusal
    with session.store.write() as writer:
        current = require_comment(writer, session, number)
        refusal = delivery_refusal(
            number, found.worker_id,
            is_delivered=not is_reopened(current.state) or current.message_id is not None,
        )  # fmt: skip
        if refusal is not None:
            raise refusal
        set_answer(writer, current, commit=tip or "", answer=answer)
        return move_comment(
            writer, current, CommentEvent.HANDLE, actor=session.actor, commit=tip or "",
            answer=answer,
        )  # fmt: skip


def resolve(session: Session, number: int) -> Comment:
    """Record that a comment needs nothing more."""
    return _settle(session, number, CommentEvent.RESOLVE)


def reopen(session: Session, number: int, *, reply: str = "") -> Comment:
    """Record that a handled or resolved comment needs its author again.

    The next `send` publishes it, with the words of `reply`. Again with words: they replace the
    earlier ones.
    """
    return _settle(session, number, CommentEvent.REOPEN, reply=reply)


def _settle(
    session: Session, number: int, event: CommentEvent, *, reply: str | None = None
) -> Comment:
    with session.store.write() as writer:
        found = require_comment(writer, session, number)
        refusal = may_judge(
            session.actor, found.worker_id, self_review=session.settings.review_self
        )
        if refusal is not None:
            raise refusal
        if reply and repeats(found.state, event):
            set_reply(writer, found, reply, identity=session.actor)
            return require_comment(writer, session, number)
        if _is_repeated(session, found, event):
            return found
        if reply is not None:
            set_reply(writer, found, reply, identity=session.actor)
        return move_comment(writer, found, event, actor=session.actor, reply=reply or "")


def _is_repeated(session: Session, found: Comment, event: CommentEvent) -> bool:
    """Report a comment that is in the state already."""
    if not repeats(found.state, event):
        return False
    session.report(Notice(f"comment {found.id} is {found.state} already: nothing changed"))
    return True
