"""The machine of a review comment: from the draft of a reviewer to the end of its discussion."""

from enum import StrEnum

from gitworker.states.engine import Machine, next_state


class CommentState(StrEnum):
    """The state of a review comment; a draft is known to its reviewer only."""

    DRAFT = "draft"
    SENT = "sent"
    HANDLED = "handled"
    RESOLVED = "resolved"
    REOPENED = "reopened"


class CommentEvent(StrEnum):
    """An event of a review comment: `handle` is the author's, the others are the reviewer's."""

    SEND = "send"
    HANDLE = "handle"
    RESOLVE = "resolve"
    REOPEN = "reopen"


S, E = CommentState, CommentEvent

COMMENT_MACHINE: Machine[CommentState, CommentEvent] = Machine(
    "comment",
    S.DRAFT,
    {
        (S.DRAFT, E.SEND): S.SENT,
        (S.SENT, E.HANDLE): S.HANDLED,
        (S.SENT, E.RESOLVE): S.RESOLVED,
        (S.HANDLED, E.RESOLVE): S.RESOLVED,
        (S.HANDLED, E.REOPEN): S.REOPENED,
        (S.RESOLVED, E.REOPEN): S.REOPENED,
        (S.REOPENED, E.HANDLE): S.HANDLED,
        (S.REOPENED, E.RESOLVE): S.RESOLVED,
    },
)

# The author has to act on a comment in one of these states.
OPEN = frozenset({S.SENT, S.REOPENED})


def comment_transition(state: CommentState, event: CommentEvent) -> CommentState:
    """Return the state that `event` leads to; raise InvalidTransition if it is not allowed."""
    return next_state(COMMENT_MACHINE, state, event)
