"""The comments of one review or of all, with their present places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitworker.observe.inbox.rules_comments import place_text
from gitworker.observe.text import listing
from gitworker.review.comments.anchors import Anchored, find_anchors
from gitworker.review.comments.comment_json import json_anchored
from gitworker.review.comments.rules_steps import is_draft
from gitworker.review.rounds import find_round
from gitworker.store.reviewing.comments import comments_of, is_read, left_drafts
from gitworker.store.reviewing.rounds import rounds_of
from gitworker.store.workers import all_workers

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker

HEAD = ("N", "WORKER", "STATE", "READ", "PLACE", "TEXT")


@dataclass(frozen=True, slots=True)
class CommentList:
    """Comments by worker and number; `unread` are the numbers that their author has not read."""

    comments: tuple[Anchored, ...]
    unread: frozenset[int]


def list_comments(session: Session, worker: Worker | None = None) -> CommentList:
    """Return the comments on the present tasks of a worker or of all workers.

    The caller's drafts on earlier tasks follow, outdated: they can only be dropped.
    """
    with session.store.read() as reader:
        workers = [worker] if worker is not None else all_workers(reader)
        left = left_drafts(reader, session.actor)
    found: list[Anchored] = []
    for one in workers:
        if one.task_id is not None and find_round(session, one) is not None:
            found += _comments_of(session, one)
    names = {one.worker_id for one in workers}
    found += [
        Anchored(one, None, is_outdated=True)
        for one in left
        if worker is None or one.worker_id in names
    ]
    with session.store.read() as reader:
        unread = {
            one.comment.id
            for one in found
            if not is_draft(one.comment.state) and not is_read(reader, one.comment)
        }
    return CommentList(tuple(found), frozenset(unread))


def _comments_of(session: Session, worker: Worker) -> tuple[Anchored, ...]:
    with session.store.read() as reader:
        stored = comments_of(reader, worker.worker_id, worker.task_id)
        rounds = rounds_of(reader, worker.worker_id, worker.task_id)
    seen = [one for one in stored if not is_draft(one.state) or one.identity == session.actor]
    return find_anchors(session.git, seen, rounds)


def render_comments(found: CommentList, *, width: int | None, color: bool) -> str:
    """Return a table; without a width, rows separated by tabs for scripts."""
    rows = [_row(one, is_unread=one.comment.id in found.unread) for one in found.comments]
    return listing(HEAD, rows, width=width, color=color, empty="there are no comments")


def json_comments(found: CommentList) -> dict[str, Any]:
    """Return the comments as JSON data."""
    return {
        "comments": [
            json_anchored(one) | {"read": one.comment.id not in found.unread}
            for one in found.comments
        ]
    }


def _row(one: Anchored, *, is_unread: bool) -> tuple[str, ...]:
    comment, place = one.comment, one.comment.place
    lines = one.lines or place
    shown = place_text(
        lines and lines.path, place and place.side, lines and [lines.first, lines.last]
    )
    state = f"{comment.state} (outdated)" if one.is_outdated else str(comment.state)
    read = "-" if is_draft(comment.state) else "no" if is_unread else "yes"
    return (
        str(comment.id), comment.worker_id, state, read, shown, comment.text.split("\n", 1)[0]
    )  # fmt: skip
