"""Comments as JSON data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.review.comments.open_comments import comment_facts

if TYPE_CHECKING:
    from gitworker.review.comments.anchors import Anchored
    from gitworker.review.comments.send import SentReview
    from gitworker.store.reviewing.comments import Comment


def json_comment(comment: Comment) -> dict[str, Any]:
    """Return a comment with its state and its author's answer."""
    return comment_facts(comment) | {
        "worker": comment.worker_id, "task": comment.task_id, "reviewer": comment.reviewer,
        "at": clock.iso_utc(comment.created_at_ms), "commit": comment.handled_commit or None,
        "answer": comment.answer,
    }  # fmt: skip


def json_anchored(one: Anchored) -> dict[str, Any]:
    """Return a comment with its present place, null if it has none or is outdated."""
    now = None if one.lines is None else list(one.lines)
    return json_comment(one.comment) | {"now": now, "outdated": one.is_outdated}


def json_sent(sent: SentReview) -> dict[str, Any]:
    """Return a review that was sent."""
    worker = sent.worker
    return {
        "worker": worker.worker_id, "state": worker.state.value, "verdict": sent.verdict,
        "comments": [json_comment(one) for one in sent.comments],
    }  # fmt: skip
