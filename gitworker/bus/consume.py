"""Read an agent's unread messages as JSON lines, and move its cursor. On the hot path.

Delivery is at least once: the cursor moves only after the reader got its lines.
"""

from __future__ import annotations

from gitworker import clock
from gitworker.bus.blobs import find_blob
from gitworker.errors import Invalid

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.store.api import Reader, Row, Store

POLL_LIMIT = 100


def unread(store: Store, agent: str, *, limit: int = POLL_LIMIT) -> list[Row]:
    """Return the oldest unread messages to an agent or to all: `seq`, `payload_ref`, `line`.

    Writes nothing.
    """
    with store.read() as reader:
        after = cursor_of(reader, agent)
        return reader.rows("messages.poll_lines", agent=agent, after=after, limit=limit)


def acknowledge(store: Store, agent: str, seq: int) -> None:
    """Move an agent's cursor forward to `seq`, never back; a power cut may deliver again."""
    store.write_one("messages.ack", durable=False, agent=agent, seq=seq, now=clock.now_ms())


def cursor_of(reader: Reader, agent: str) -> int:
    """Return the position up to which an agent has acknowledged; 0 if it never has."""
    row = reader.row("messages.cursor", agent=agent)
    return int(row["seq"]) if row else 0


def require_position(store: Store, seq: int) -> None:
    """Raise Invalid for a position after the newest message, since it would skip later ones."""
    with store.read() as reader:
        row = reader.row("messages.last_seq")
    newest = row["seq"] if row else 0
    if seq > newest:
        raise Invalid(f"there is no message {seq} yet: the newest is {newest}", code="usage")


def full_line(store: Store, row: Row, *, blobs: str) -> str:
    """Return a message's line with its large payload.

    If the blob is missing or damaged, `payload_error` names the fault.
    """
    ref = row["payload_ref"]
    line = str(row["line"])
    if ref is None:
        return line
    text = find_blob(blobs, ref)
    tail = f'"payload":null,"payload_ref":"{ref}","payload_error":null}}'
    if not line.endswith(tail):  # a foreign program's reference, which does not name a blob
        return line.removesuffix('"payload_error":null}') + '"payload_error":"blob_missing"}'
    head = line.removesuffix(tail)
    if text is None:
        return f'{head}"payload":null,"payload_ref":"{ref}","payload_error":"blob_missing"}}'
    with store.read() as reader:
        answer = reader.row("messages.is_json", text=text)
    if "\0" in text or not answer or not answer["valid"]:
        return f'{head}"payload":null,"payload_ref":"{ref}","payload_error":"decode_failed"}}'
    flat = text.strip().replace("\r", " ").replace("\n", " ")  # only between tokens of valid JSON
    return f'{head}"payload":{flat},"payload_ref":"{ref}","payload_error":null}}'
