"""Messages as their reader needs them: in words, with a command, without settled ones. Hot path."""

from __future__ import annotations

from gitworker.bus.following.message_fields import message_fields
from gitworker.model.message import MessageType
from gitworker.observe.inbox.rules_messages import (
    command_for,
    is_old_warning,
    is_settled,
    summary_of,
)

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any

    from gitworker.store.messages.mailbox import StoredMessage


class ReadMessage:
    """A message with its whole payload, its summary and the command that acts on it, or None."""

    __slots__ = ("command", "message", "payload", "text")

    def __init__(self, message: StoredMessage, payload: Any, text: str, command: str | None):
        self.message = message
        self.payload = payload
        self.text = text
        self.command = command


def open_messages(
    messages: Sequence[StoredMessage],
    *,
    blobs: str,
    handed_in: int,
    branches: Collection[str] | None = None,
) -> Iterator[ReadMessage]:
    """Yield the messages, without the verdicts that the hand-in at that position settled.

    Requested changes are shown all the same: these are the words of a reviewer. A warning of a
    conflict with the target is settled by a hand-in, too, one with a branch by the end of the
    branch, if the existing `branches` are given.
    """
    for message in messages:
        found = read_message(message, blobs=blobs)
        if message.type == MessageType.CONFLICT_WARNING and is_old_warning(
            found.payload, is_handed_in=message.seq < handed_in, branches=branches
        ):
            continue
        if message.seq < handed_in and message.type == MessageType.REVIEW_RESULT:
            if is_settled(found.text):
                continue
            found.command = None
        yield found


def read_message(message: StoredMessage, *, blobs: str) -> ReadMessage:
    """Return a message with its payload, in words."""
    payload = message_fields(message, blobs=blobs)["payload"]
    type = message.type
    command = command_for(type, payload, sender=message.from_agent, seq=message.seq)
    return ReadMessage(message, payload, summary_of(type, payload), command)
