"""Change the state of a comment: one row in `transitions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.bus.steps.record import record_transition, transition_time
from gitworker.review.comments.rules_steps import require_step
from gitworker.states.comment_machine import comment_transition
from gitworker.store.reviewing.comments import find_comment

if TYPE_CHECKING:
    from gitworker.states.comment_machine import CommentEvent
    from gitworker.store.api import Writer
    from gitworker.store.reviewing.comments import Comment


def move_comment(
    writer: Writer, comment: Comment, event: CommentEvent, *, actor: str, **facts: str
) -> Comment:
    """Fire an event on a comment and return its new row.

    `facts` are kept with the transition. Raises InvalidTransition if the machine refuses, Conflict
    if the row has changed since.
    """
    require_step(comment.id, comment.worker_id, comment.state, event)
    target = comment_transition(comment.state, event)
    record_transition(
        writer, machine="comment", entity=str(comment.id), version=comment.version + 1,
        states=(comment.state, event, target), now=transition_time(writer), actor=actor,
        metadata={"worker": comment.worker_id, "task_id": comment.task_id, **facts}, lines=[],
    )  # fmt: skip
    moved = find_comment(writer, comment.id)
    assert moved is not None
    return moved
