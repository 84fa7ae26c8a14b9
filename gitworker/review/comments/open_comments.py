"""The comments that an author still has to act on, as text for an agent's prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.observe.inbox.rules_comments import comment_lines
from gitworker.review.comments.rules_steps import is_open
from gitworker.store.reviewing.comments import comments_of

if TYPE_CHECKING:
    from gitworker.store.api import Reader
    from gitworker.store.reviewing.comments import Comment
    from gitworker.store.workers import Worker


def open_comment_lines(reader: Reader, worker: Worker, *, note: str = "") -> list[str]:
    """Return the open comments on a worker's task that were sent; `note` is not repeated."""
    found = comments_of(reader, worker.worker_id, worker.task_id)
    comments = [comment_facts(one) for one in found if is_open(one.state) and one.message_id]
    return comment_lines({"comments": comments, "note": note})


def comment_facts(comment: Comment) -> dict[str, Any]:
    """Return a comment as its author gets it: its number, place, quoted lines and words."""
    place = comment.place
    return {
        "number": comment.id, "round": comment.round, "state": comment.state.value,
        "path": None if place is None else place.path,
        "side": None if place is None else place.side,
        "lines": None if place is None else [place.first, place.last],
        "quoted": [] if place is None else list(place.quoted),
        "text": comment.text, "reply": comment.reply,
    }  # fmt: skip
