"""Drafts: the comments that a reviewer has written and not sent yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.errors import Invalid, NotFound, Refused
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.rules import may_judge
from gitworker.repo.plumbing.objects import read_objects
from gitworker.review.comments.rules_place import parse_place, quoted_lines
from gitworker.review.comments.rules_steps import is_draft
from gitworker.review.reviewer import name_of
from gitworker.review.rounds import round_at
from gitworker.rules_text import one_line, quoted
from gitworker.store.reviewing.comments import (
    NEW,
    OLD,
    Comment,
    NewComment,
    Place,
    add_comment,
    drop_comment,
    find_comment,
    set_text,
)

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.reviewing.rounds import Round
    from gitworker.store.workers import Worker

LIST = "git worker review list"


def comment(
    session: Session,
    name: str,
    place: str | None,
    *,
    text: str,
    is_old: bool = False,
    at: str | None = None,
) -> Comment:
    """Add a draft on the newest round of a worker, on `FILE:LINE[-LINE]` or on the whole round.

    `is_old`: the lines are those before the change. `at` is the tip of the round that the reviewer
    has seen, whose lines are meant; it may be an older one. Raises NotFound for an unknown file and
    Invalid for unknown lines.
    """
    worker = require_reviewable(session, name)
    found = round_at(session, worker, at)
    lines = None if place is None else _read_place(session, worker, found, place, is_old=is_old)
    new = NewComment(
        worker.worker_id,
        worker.task,
        found.number,
        session.actor,
        name_of(session),
        _required(text),
        lines,
    )
    with session.store.write() as writer:
        return add_comment(writer, new, now=clock.now_ms())


def edit(session: Session, number: int, *, text: str) -> Comment:
    """Replace the words of a draft; raise Refused for another reviewer's or one that was sent."""
    with session.store.write() as writer:
        draft = _require_own_draft(writer, session, number)
        set_text(writer, draft, _required(text))
        return draft._replace(text=text)


def drop(session: Session, number: int) -> Comment:
    """Delete a draft; raise Refused for another reviewer's or one that was sent."""
    with session.store.write() as writer:
        draft = _require_own_draft(writer, session, number)
        drop_comment(writer, draft)
        return draft


def require_reviewable(session: Session, name: str) -> Worker:
    """Return the worker with a task that the caller may review; raise NotFound or Refused."""
    worker = require_judge(session, name)
    if worker.task_id is None:
        raise NotFound(f"worker {worker.worker_id} has no task", "git worker list")
    return worker


def require_judge(session: Session, name: str) -> Worker:
    """Return the worker that the caller may judge; raise NotFound or Refused."""
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
    refusal = may_judge(
        session.actor, worker.worker_id, self_review=session.settings.review_self,
        state=worker.stale_from or worker.state,
    )  # fmt: skip
    if refusal is not None:
        raise refusal
    return worker


def require_comment(reader: Reader, session: Session, number: int) -> Comment:
    """Return a comment that the caller may see: one that was sent, or its own draft."""
    found = find_comment(reader, number)
    if found is None or (is_draft(found.state) and found.identity != session.actor):
        raise NotFound(f"comment {number} does not exist", LIST)
    return found


def _require_own_draft(reader: Reader, session: Session, number: int) -> Comment:
    found = require_comment(reader, session, number)
    if not is_draft(found.state):
        raise Refused(
            f"comment {number} is {found.state}: only a draft can be changed",
            f"git worker review comment {found.worker_id} -m <text>",
        )
    return found


def _read_place(
    session: Session, worker: Worker, found: Round, text: str, *, is_old: bool
) -> Place:
    lines = parse_place(text)
    commit = found.base if is_old else found.tip
    names = [f"{one}:{lines.path}" for one in (found.base, found.tip)]
    old, new = read_objects(session.git, names)
    content = old if is_old else new
    label = f"{'the base' if is_old else 'the tip'} of round {found.number} ({commit[:10]})"
    if content is None and old is not None:
        raise NotFound(
            f"{one_line(lines.path)} does not exist in {label}",
            f"git worker review comment {worker.worker_id} {quoted(text)} --old -m <text>",
        )
    quote = quoted_lines(lines, content, label=label)
    return Place(lines.path, OLD if is_old else NEW, lines.first, lines.last, quote)


def _required(text: str) -> str:
    if not text.strip():
        raise Invalid("the comment is empty", "git worker review comment -h", code="usage")
    return text
