"""Publishing into an open transaction."""

import json
import uuid

from gitworker.bus.publish import Outgoing, publish
from gitworker.store.sqlite.database import Database


def test_a_message_is_stored_in_the_documented_columns(store: Database) -> None:
    """Every field arrives in its column, the payload as JSON text."""
    message = Outgoing(
        "task_done", sender="auth", payload={"a": "ü", "n": None}, to="hq", correlation_id="t",
        in_reply_to="m0", id="m1",
    )  # fmt: skip
    with store.write() as writer:
        assert publish(writer, message, now=42) == "m1"
    row = store.row("messages.by_id", id="m1")
    assert row is not None
    assert json.loads(row["payload"]) == {"a": "ü", "n": None}
    assert {name: row[name] for name in row if name != "payload"} == {
        "seq": 1, "id": "m1", "ts_ms": 42, "from_agent": "auth", "to_agent": "hq",
        "type": "task_done", "correlation_id": "t", "in_reply_to": "m0", "payload_ref": None,
    }  # fmt: skip


def test_publishing_is_idempotent_by_id(store: Database) -> None:
    """A known id is a retry: the first message stays, and no sequence number is used up."""
    for text in ("first", "second"):
        with store.write() as writer:
            publish(writer, Outgoing("x-note", payload={"t": text}, id="same"), now=1)
    rows = store.rows("messages.follow", after=0, limit=9)
    assert [json.loads(row["payload"]) for row in rows] == [{"t": "first"}]


def test_a_message_without_an_id_gets_one(store: Database) -> None:
    """A message without an id gets a new one; a broadcast without payload keeps both empty."""
    with store.write() as writer:
        published = publish(writer, Outgoing("x-note"), now=1)
    assert uuid.UUID(published).version == 7
    row = store.row("messages.by_id", id=published)
    assert row is not None
    assert (row["to_agent"], row["payload"], row["from_agent"]) == (None, None, "hq")
