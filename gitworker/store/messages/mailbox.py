"""Messages and cursors as stored: publishing, reading, acknowledging, finding addressees.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms, `collections` for named tuples 3 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.store.api import Reader, Row, Store, Value, Writer


class StoredMessage:
    """One message's row. `payload` is bytes only if a foreign program stored bytes."""

    __slots__ = (
        "correlation_id", "from_agent", "id", "in_reply_to", "payload", "payload_ref", "seq",
        "to_agent", "ts_ms", "type",
    )  # fmt: skip

    def __init__(self, row: Row) -> None:
        self.seq: int = row["seq"]
        self.id: str = row["id"]
        self.ts_ms: int = row["ts_ms"]
        self.from_agent: str = row["from_agent"]
        self.to_agent: str | None = row["to_agent"]
        self.type: str = row["type"]
        self.correlation_id: str | None = row["correlation_id"]
        self.in_reply_to: str | None = row["in_reply_to"]
        self.payload: str | bytes | None = row["payload"]
        self.payload_ref: str | None = row["payload_ref"]

    @property
    def text(self) -> str | None:
        """The inline payload as text."""
        found = self.payload
        return found.decode("utf-8", "replace") if isinstance(found, bytes) else found


class UnreadMessage:
    """A message, and whether its payload is valid JSON; if so, `payload` is its compact form."""

    __slots__ = ("is_json", "message")

    def __init__(self, row: Row) -> None:
        self.message = StoredMessage(row)
        self.is_json = bool(row["is_json"])


class NewMessage:
    """A message to insert; `to` None is a broadcast."""

    __slots__ = (
        "correlation_id", "id", "in_reply_to", "payload", "payload_ref", "sender", "to", "ts_ms",
        "type",
    )  # fmt: skip

    def __init__(
        self,
        id: str,
        type: str,
        *,
        ts_ms: int,
        sender: str,
        to: str | None = None,
        correlation_id: str | None = None,
        in_reply_to: str | None = None,
        payload: str | None = None,
        payload_ref: str | None = None,
    ) -> None:
        self.id = id
        self.type = type
        self.ts_ms = ts_ms
        self.sender = sender
        self.to = to
        self.correlation_id = correlation_id
        self.in_reply_to = in_reply_to
        self.payload = payload
        self.payload_ref = payload_ref

    def values(self) -> dict[str, Value]:
        """Return the parameters of the insertion."""
        return {
            "id": self.id, "ts_ms": self.ts_ms, "from_agent": self.sender, "to_agent": self.to,
            "type": self.type, "correlation_id": self.correlation_id,
            "in_reply_to": self.in_reply_to, "payload": self.payload,
            "payload_ref": self.payload_ref,
        }  # fmt: skip


class Selection:
    """The messages that a reader wants: `mine` without those to all, of a type, of a sender."""

    __slots__ = ("mine", "sender", "type")

    def __init__(
        self, *, mine: bool = False, type: str | None = None, sender: str | None = None
    ) -> None:
        self.mine = mine
        self.type = type
        self.sender = sender

    @property
    def leaves_out(self) -> bool:
        """Return whether messages of the reader may be left out."""
        return self.type is not None or self.sender is not None

    def values(self, agent: str) -> dict[str, Value]:
        """Return the parameters of the queries."""
        return {
            "agent": agent, "mine": int(self.mine), "type": self.type, "sender": self.sender,
        }  # fmt: skip


EVERYTHING = Selection()


def insert_message(writer: Writer, message: NewMessage) -> None:
    """Insert a message unless its id exists."""
    writer.run(_place(writer), **message.values())


def publish_message(store: Store, message: NewMessage, *, durable: bool = True) -> None:
    """Insert a message unless its id exists, in a transaction of its own."""
    store.write_one(_place(store), durable=durable, **message.values())


def _place(reader: Reader) -> str:
    """Return the query that publishes, or that leaves a message to the link of a fleet."""
    return "fleet.send" if reader.defers_messages else "messages.publish"


def messages_after(reader: Reader, after: int, *, limit: int) -> list[StoredMessage]:
    """Return the messages after a position, to any addressee, oldest first."""
    rows = reader.rows("messages.follow", after=after, limit=limit)
    return [StoredMessage(row) for row in rows]


def unread_messages(reader: Reader, agent: str, *, limit: int) -> list[StoredMessage]:
    """Return the oldest messages to an agent or to all after the agent's cursor."""
    rows = reader.rows("messages.unread", agent=agent, limit=limit)
    return [StoredMessage(row) for row in rows]


def unread_as_json(
    reader: Reader, agent: str, *, limit: int, selection: Selection = EVERYTHING
) -> list[UnreadMessage]:
    """Return the same messages, their payloads checked by the database: no JSON module loads."""
    rows = reader.rows("messages.unread_json", limit=limit, **selection.values(agent))
    return [UnreadMessage(row) for row in rows]


def first_left_out(reader: Reader, agent: str, selection: Selection) -> int | None:
    """Return the oldest unread message that a selection leaves out, or None.

    With `mine` the messages to all are not counted: they are not the reader's.
    """
    row = reader.row("messages.first_left_out", **selection.values(agent))
    return None if row is None else row["seq"]


def count_after(reader: Reader, agent: str, selection: Selection, *, after: int, limit: int) -> int:
    """Return the number of a reader's messages after a position, counted up to a limit."""
    values = selection.values(agent)
    return _number(reader.row("messages.count_after", after=after, limit=limit, **values), "number")


def find_message(reader: Reader, id: str) -> StoredMessage | None:
    """Return the message with this id, or None."""
    return _message(reader.row("messages.by_id", id=id))


def find_message_at(reader: Reader, seq: int) -> StoredMessage | None:
    """Return the message at a position, or None."""
    return _message(reader.row("messages.by_seq", seq=seq))


def find_reply(reader: Reader, id: str, *, agent: str, after: int) -> StoredMessage | None:
    """Return the first answer to a message after a position, to an agent or to all, or None."""
    return _message(reader.row("messages.reply", id=id, agent=agent, after=after))


def newest_seq(reader: Reader) -> int:
    """Return the position of the newest message; 0 if there are no messages."""
    return _number(reader.row("messages.last_seq"), "seq")


def cursor_of(reader: Reader, agent: str) -> int:
    """Return the position up to which an agent has acknowledged; 0 if it never has."""
    return _number(reader.row("messages.cursor", agent=agent), "seq")


def move_cursor(writer: Writer, agent: str, seq: int, *, now: int) -> None:
    """Move an agent's cursor forward to a position, never back; create it if it does not exist."""
    writer.run("messages.ack", agent=agent, seq=seq, now=now)


def begin_cursor(writer: Writer, agent: str) -> None:
    """Let an agent without a cursor begin at the end of the bus, no message to it skipped."""
    writer.run("messages.begin_cursor", agent=agent)


def acknowledge_message(store: Store, agent: str, seq: int, *, now: int) -> None:
    """Move a cursor in a transaction of its own, which is not synced to disk."""
    store.write_one("messages.ack", durable=False, agent=agent, seq=seq, now=now)


def is_json(reader: Reader, text: str) -> bool:
    """Return whether a text is valid JSON."""
    return bool(_number(reader.row("messages.is_json", text=text), "valid"))


def payload_kinds(reader: Reader, text: str) -> Mapping[str, str | None]:
    """Return the JSON type of a payload (`kind`) and of the keys that message types define."""
    return reader.row("messages.kinds", text=text) or {}


def payload_words(reader: Reader, text: str) -> Mapping[str, object]:
    """Return the values of the keys of a payload that may contain certain words only."""
    return reader.row("messages.words", text=text) or {}


def task_of_worker(reader: Reader, worker: str) -> str | None:
    """Return the task that a worker holds; None also if the worker does not exist."""
    row = reader.row("workers.by_id", worker=worker)
    return None if row is None else row["task_id"]


def is_interrupted(reader: Reader, worker: str) -> bool:
    """Return whether a worker is stale, has failed or waits for its author."""
    row = reader.row("workers.is_interrupted", worker=worker)
    return row is not None and bool(row["interrupted"])


def find_worker_id(reader: Reader, name: str) -> str | None:
    """Return the id of the worker with this id, task or branch, or None."""
    row = reader.row("workers.by_id", worker=name) or reader.row("workers.by_task", task=name)
    if row is None:
        from gitworker.model.ref_names import short_name  # a file more, for branches only

        row = reader.row("workers.by_branch", branch=short_name(name))
    return None if row is None else str(row["worker_id"])


def find_agent_id(reader: Reader, name: str) -> str | None:
    """Return the worker with this id or task, else the agent that has used the bus."""
    if is_worker(reader, name):
        return name
    holder = reader.row("workers.by_task", task=name)
    if holder is not None:
        return str(holder["worker_id"])
    is_known = reader.row("liveness.of_agent", agent=name) is not None
    if is_known or cursor_of(reader, name) > 0:
        return name
    return name if reader.row("messages.any_from", agent=name) is not None else None


def is_worker(reader: Reader, name: str) -> bool:
    """Return whether a worker has this id."""
    return reader.row("workers.by_id", worker=name) is not None


def is_task(reader: Reader, name: str) -> bool:
    """Return whether a task has this id."""
    return reader.row("tasks.by_id", task=name) is not None


def _message(row: Row | None) -> StoredMessage | None:
    return None if row is None else StoredMessage(row)


def _number(row: Row | None, column: str) -> int:
    return 0 if row is None else int(row[column])
