"""Decisions about the steps of comments: who may take them, and which are repeated. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gitworker.errors import GitWorkerError, Refused
from gitworker.model.ids import RESERVED
from gitworker.states.comment_machine import (
    COMMENT_MACHINE,
    OPEN,
    CommentEvent,
    CommentState,
    comment_transition,
)
from gitworker.states.engine import InvalidTransition

HINTS: Mapping[CommentState, str] = MappingProxyType({
    CommentState.DRAFT: "git worker review send {worker}",
    CommentState.SENT: "git worker review resolve {number}",
    CommentState.HANDLED: "git worker review reopen {number}",
    CommentState.RESOLVED: "git worker review reopen {number}",
    CommentState.REOPENED: "git worker review resolve {number}",
})  # fmt: skip


def is_draft(state: CommentState) -> bool:
    """Return whether only its reviewer knows the comment."""
    return state is CommentState.DRAFT


def is_open(state: CommentState) -> bool:
    """Return whether the author has to act on the comment."""
    return state in OPEN


def is_resolved(state: CommentState) -> bool:
    """Return whether the comment needs nothing more."""
    return state is CommentState.RESOLVED


def is_reopened(state: CommentState) -> bool:
    """Return whether the comment was reopened and is not handled again."""
    return state is CommentState.REOPENED


def repeats(state: CommentState, event: CommentEvent) -> bool:
    """Return whether a comment is already in the state that the event leads to from any state."""
    return state in {end for (_, by), end in COMMENT_MACHINE.table.items() if by is event}


def require_step(number: int, worker: str, state: CommentState, event: CommentEvent) -> None:
    """Raise InvalidTransition unless the machine has this step."""
    try:
        comment_transition(state, event)
    except InvalidTransition as error:
        hint = HINTS[state].format(worker=worker, number=number)
        raise InvalidTransition(
            error.state, error.event, hint, message=f"comment {number} is {state}"
        ) from None


def handle_refusal(actor: str, worker: str, number: int) -> GitWorkerError | None:
    """Return why `actor` must not handle a comment on `worker`'s work, or None."""
    if actor == worker or actor in RESERVED:
        return None
    return Refused(
        f"comment {number} is for worker {worker}",
        f"git worker review list {actor}",
        code="not_allowed",
    )


def delivery_refusal(number: int, worker: str, *, is_delivered: bool) -> GitWorkerError | None:
    """Return why a comment cannot be handled before its author gets it again, or None."""
    if is_delivered:
        return None
    return Refused(
        f"comment {number} was reopened and is not sent yet", f"git worker review list {worker}"
    )


def answer_refusal(number: int, *, has_commit: bool, answer: str) -> GitWorkerError | None:
    """Return why a comment cannot be handled without a commit and without words, or None."""
    if has_commit or answer:
        return None
    return Refused(
        f"nothing was committed since comment {number} was sent: commit first, or answer it",
        f"git worker review handled {number} -m <text>",
    )
