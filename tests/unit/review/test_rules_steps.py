"""The steps of comments: which are legal, repeated, and allowed to a caller."""

import pytest

from gitworker.review.comments.rules_steps import (
    answer_refusal,
    handle_refusal,
    is_draft,
    is_open,
    is_reopened,
    is_resolved,
    repeats,
    require_step,
)
from gitworker.states.comment_machine import CommentEvent, CommentState
from gitworker.states.engine import InvalidTransition


def test_states() -> None:
    """A draft is its reviewer's, a sent or reopened comment is the author's turn."""
    assert [one.value for one in CommentState if is_draft(one)] == ["draft"]
    assert [one.value for one in CommentState if is_open(one)] == ["sent", "reopened"]
    assert [one.value for one in CommentState if is_reopened(one)] == ["reopened"]
    assert [one.value for one in CommentState if is_resolved(one)] == ["resolved"]


def test_repeated_steps() -> None:
    """A step is repeated in the state that it leads to."""
    found = [
        (state.value, event.value)
        for state in CommentState
        for event in CommentEvent
        if repeats(state, event)
    ]
    assert found == [
        ("sent", "send"), ("handled", "handle"), ("resolved", "resolve"), ("reopened", "reopen"),
    ]  # fmt: skip


def test_an_illegal_step_names_the_comment() -> None:
    """The refusal names the number and the state, and the hint is the legal step."""
    require_step(3, "auth", CommentState.SENT, CommentEvent.HANDLE)
    with pytest.raises(InvalidTransition) as caught:
        require_step(3, "auth", CommentState.DRAFT, CommentEvent.RESOLVE)
    assert caught.value.message == "comment 3 is draft"
    assert caught.value.hint == "git worker review send auth"


def test_refusals() -> None:
    """Only the author or a person handles a comment, with a commit or an answer."""
    assert handle_refusal("auth", "auth", 3) is None
    assert handle_refusal("hq", "auth", 3) is None
    assert handle_refusal("docs", "auth", 3) is not None
    assert answer_refusal(3, has_commit=True, answer="") is None
    assert answer_refusal(3, has_commit=False, answer="so") is None
    assert answer_refusal(3, has_commit=False, answer="") is not None
