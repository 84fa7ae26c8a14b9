"""Publish one message in an open transaction."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gitworker.bus.blobs import INLINE_MAX_BYTES, save_blob
from gitworker.bus.message_ids import new_id
from gitworker.model.ids import HQ
from gitworker.store.api import Writer
from gitworker.store.messages.mailbox import NewMessage, insert_message


class Outgoing(NamedTuple):
    """A message to publish; `to` None is a broadcast, `id` None asks for a new id."""

    type: str
    sender: str = HQ
    payload: Mapping[str, Any] | None = None
    to: str | None = None
    correlation_id: str | None = None
    in_reply_to: str | None = None
    id: str | None = None


def json_text(value: object) -> str:
    """Return a value as JSON in valid UTF-8; a lone surrogate becomes `?`.

    git's file names, authors and subjects are bytes. Bytes that are not UTF-8 arrive here as
    surrogates (os.fsdecode), which neither SQLite nor other readers accept.
    """
    import json  # 1 ms, and most commands publish nothing

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


def publish(writer: Writer, message: Outgoing, *, now: int, blobs: str | None = None) -> str:
    """Insert the message unless its id exists; return the id.

    With `blobs`, a large payload is stored as a file in that directory. It cannot be collected
    before the message refers to it, because a collection needs a write transaction, too.
    """
    payload = None if message.payload is None else json_text(message.payload)
    payload_ref = None
    if blobs is not None and payload is not None:
        raw = payload.encode()
        if len(raw) > INLINE_MAX_BYTES:
            payload, payload_ref = None, save_blob(blobs, raw)
    new = NewMessage(
        message.id or new_id(),
        message.type,
        ts_ms=now,
        sender=message.sender,
        to=message.to,
        correlation_id=message.correlation_id,
        in_reply_to=message.in_reply_to,
        payload=payload,
        payload_ref=payload_ref,
    )
    insert_message(writer, new)
    return new.id


def log_message(
    worker: str,
    task: str | None,
    event: str,
    text: str,
    *,
    level: str = "info",
    in_reply_to: str | None = None,
) -> Outgoing:
    """Return a `log` message of a worker about its agent."""
    payload = {"level": level, "event": event, "message": text}
    return Outgoing(
        "log", sender=worker, correlation_id=task, in_reply_to=in_reply_to, payload=payload
    )
