"""The end of a comment: handled by its author, resolved or reopened by a reviewer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.lifecycle.rules import may_judge
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
from gitworker.review.rounds import later_commits, read_round
from gitworker.states.comment_machine import CommentEvent
from gitworker.store.reviewing.comments import set_answer, set_reply
from gitworker.store.reviewing.rounds import rounds_of
from gitworker.store.workers import find_worker

if TYPE_CHECKING:
    from gitworker.model.ids import Oid
    from gitworker.session import Session
    from gitworker.store.reviewing.comments import Comment


def handle(
    session: Session, number: int, *, answer: str = "", commit: str | None = None
) -> Comment:
    """Record that the author has handled a comment, by a commit or by an answer.

    `commit` is by default the newest commit of the worker that no round had when the comment was
    sent. Raises Refused without such a commit, or if `commit` is another, and without an answer. An
    answer to a handled comment replaces the earlier one.
    """
    with session.store.read() as reader:
        found = require_comment(reader, session, number)
    refusal = handle_refusal(session.actor, found.worker_id, number)
    if refusal is not None:
        raise refusal
    if repeats(found.state, CommentEvent.HANDLE) and answer:
        return _replace_answer(session, number, answer)
    if _is_repeated(session, found, CommentEvent.HANDLE):
        return found
    require_step(number, found.worker_id, found.state, CommentEvent.HANDLE)
    named = None if commit is None else session.git.require_oid(commit)
    work = _later_work(session, found)
    refusal = answer_refusal(
        number, has_commit=bool(work) if named is None else named in work, answer=answer
    )
    if refusal is not None:
        raise refusal
    oid = named or (work[-1] if work else "")
    with session.store.write() as writer:
        current = require_comment(writer, session, number)
        refusal = delivery_refusal(
            number, found.worker_id,
            is_delivered=not is_reopened(current.state) or current.message_id is not None,
        )  # fmt: skip
        if refusal is not None:
            raise refusal
        set_answer(writer, current, commit=oid, answer=answer)
        return move_comment(
            writer, current, CommentEvent.HANDLE, actor=session.actor, commit=oid, answer=answer
        )


def _later_work(session: Session, comment: Comment) -> list[Oid]:
    """Return the worker's commits that no round had when the comment was sent or reopened.

    Oldest first. A commit with the patch of an earlier one, as after a rebase, is left out.
    """
    with session.store.read() as reader:
        worker = find_worker(reader, comment.worker_id)
        rounds = rounds_of(reader, comment.worker_id, comment.task_id)
    if worker is None or not worker.branch or worker.task_id != comment.task_id:
        return []
    tip = find_ref(session.git, worker.ref)
    target = find_ref(session.git, session.target_of(worker))
    if tip is None or target is None:
        return []
    now = read_round(session, worker, tip=tip, target=target).commits
    before = [one for one in rounds if one.created_at_ms <= comment.state_changed_at_ms]
    return later_commits(now, before)


def _replace_answer(session: Session, number: int, answer: str) -> Comment:
    with session.store.write() as writer:
        current = require_comment(writer, session, number)
        set_answer(writer, current, commit=current.handled_commit or "", answer=answer)
        return require_comment(writer, session, number)


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
