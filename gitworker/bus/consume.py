"""Read an agent's unread messages as JSON lines, and move its cursor. On the hot path.

Delivery is at least once: the cursor moves only after the reader got its lines.
"""

from __future__ import annotations

from gitworker import clock
from gitworker.bus.blobs import find_blob
from gitworker.bus.files.json_line import polled_line
from gitworker.errors import Invalid
from gitworker.store.messages.mailbox import (
    EVERYTHING,
    Selection,
    acknowledge_message,
    count_after,
    first_left_out,
    is_json,
    newest_seq,
    unread_as_json,
)

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.store.api import Store
    from gitworker.store.messages.mailbox import UnreadMessage

POLL_LIMIT = 100
COUNT_TO = 1000


def unread(
    store: Store, agent: str, *, limit: int = POLL_LIMIT, selection: Selection = EVERYTHING
) -> list[UnreadMessage]:
    """Return the oldest unread messages to an agent or to all. Writes nothing."""
    with store.read() as reader:
        return unread_as_json(reader, agent, limit=limit, selection=selection)


def left_unread(
    store: Store, agent: str, selection: Selection, last: int, *, has_more: bool
) -> tuple[int | None, int]:
    """Return the first unread message before `last` that a selection leaves out, or None.

    Also return how many more messages of the selection are unread, up to 1,000. A cursor is one
    number, so it must stop before the message that is left out.
    """
    if not has_more and not selection.leaves_out:
        return None, 0
    with store.read() as reader:
        first = first_left_out(reader, agent, selection) if selection.leaves_out else None
        more = count_after(reader, agent, selection, after=last, limit=COUNT_TO) if has_more else 0
    return (first if first is not None and first < last else None), more


def acknowledge(store: Store, agent: str, seq: int) -> None:
    """Move an agent's cursor forward to `seq`, never back; a power cut may deliver again."""
    acknowledge_message(store, agent, seq, now=clock.now_ms())


def require_position(store: Store, seq: int) -> None:
    """Raise Invalid for a position after the newest message, since it would skip later ones."""
    with store.read() as reader:
        newest = newest_seq(reader)
    if seq > newest:
        raise Invalid(f"there is no message {seq} yet: the newest is {newest}", code="usage")


def full_line(store: Store, found: UnreadMessage, *, blobs: str) -> str:
    """Return a message's line with its large payload.

    If the blob is missing or damaged, `payload_error` names the fault.
    """
    message = found.message
    payload, error = message.text, None if found.is_json else "decode_failed"
    if message.payload_ref is not None:
        text = find_blob(blobs, message.payload_ref)
        error = "blob_missing" if text is None else None
        if text is not None:
            with store.read() as reader:
                is_valid = "\0" not in text and is_json(reader, text)
            error = None if is_valid else "decode_failed"
            # Line ends are only between the tokens of valid JSON.
            payload = text.strip().replace("\r", " ").replace("\n", " ") if is_valid else None
    return polled_line(message, payload, error)
