"""A comment of a review in words, for the views that show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.observe.inbox.rules_comments import place_text
from gitworker.review.comments.rules_steps import is_draft

if TYPE_CHECKING:
    from gitworker.review.comments.anchors import Anchored

SHORT = 10


def comment_state(one: Anchored) -> str:
    """Return the state of a comment, and whether its lines have changed."""
    return f"{one.comment.state}, outdated" if one.is_outdated else str(one.comment.state)


def author_and_place(one: Anchored) -> str:
    """Return who wrote a comment, and its place: `you on src/app.py:10-12`."""
    comment, place = one.comment, one.comment.place
    lines = one.lines or place
    words = place_text(
        lines and lines.path, place and place.side, lines and [lines.first, lines.last]
    )
    return f"{'you' if is_draft(comment.state) else comment.reviewer} on {words}"


def answers(one: Anchored) -> list[str]:
    """Return the answer of the author, and the words with which the comment was reopened."""
    comment, found = one.comment, []
    if comment.answer or comment.handled_commit:
        commit = f" in {comment.handled_commit[:SHORT]}" if comment.handled_commit else ""
        found.append(f"author{commit}: {comment.answer or 'handled'}")
    if comment.reply:
        found.append(f"reopened: {comment.reply}")
    return found
