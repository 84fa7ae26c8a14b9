"""Find one message by its position or its id."""

from typing import Any

from gitworker.bus.following.message_fields import message_fields
from gitworker.errors import NotFound
from gitworker.store.api import Store
from gitworker.store.messages.mailbox import find_message, find_message_at

SEQ_DIGITS = 18  # of a position; more would not fit into SQLite's integers


def require_message(store: Store, name: str, *, blobs: str) -> dict[str, Any]:
    """Return the message with this id, else the one at this position; else raise NotFound.

    An id may also be a number; it wins over a position.
    """
    is_seq = name.isascii() and name.isdigit() and len(name) <= SEQ_DIGITS
    with store.read() as reader:
        message = find_message(reader, name.encode("utf-8", "replace").decode())
        if message is None and is_seq:
            message = find_message_at(reader, int(name))
    if message is None:
        raise NotFound(f"there is no message {ascii(name)[:80]}", "git worker log")
    return message_fields(message, blobs=blobs)
