"""Deliveries as stored: failed attempts, dead letters, and how far each agent has read."""

from typing import NamedTuple

from gitworker.store.api import Reader, Store, Writer


class Delivery(NamedTuple):
    """One message for one agent."""

    agent: str
    seq: int


class Attempts(NamedTuple):
    """The failed attempts at a delivery, and when the next one is due."""

    number: int = 0
    retry_at_ms: int = 0


class DeadLetter(NamedTuple):
    """A message that an agent's handler failed on until its last attempt."""

    agent_id: str
    seq: int
    message_id: str
    from_agent: str
    type: str
    correlation_id: str | None
    attempts: int
    error: str
    dead_at_ms: int


class BusTotals(NamedTuple):
    """The number of messages, the newest position and the time of the oldest message."""

    messages: int
    last_seq: int
    first_ts_ms: int | None


class StoredReader(NamedTuple):
    """An agent's cursor, its number of unread messages, and the time of the oldest of them.

    `has_read`: it has acknowledged a message; a worker's cursor exists before that.
    """

    agent_id: str
    last_acked_seq: int
    has_read: int
    unread: int
    oldest_ts_ms: int | None


def find_attempts(reader: Reader, delivery: Delivery) -> Attempts:
    """Return the failed attempts at a delivery."""
    row = reader.row("deliveries.of_message", **delivery._asdict())
    return Attempts() if row is None else Attempts(row["attempts"], row["retry_at_ms"])


def record_attempts(store: Store, delivery: Delivery, attempts: Attempts, *, error: str) -> None:
    """Record the attempts at a delivery, in a transaction of its own that is not synced."""
    store.write_one(
        "deliveries.count",
        durable=False,
        attempts=attempts.number, retry_at_ms=attempts.retry_at_ms, error=error,
        **delivery._asdict(),
    )  # fmt: skip


def forget_attempts(writer: Writer, delivery: Delivery) -> None:
    """Delete the attempts at an agent's messages up to this one."""
    writer.run("deliveries.forget", **delivery._asdict())


def bury_message(
    writer: Writer, delivery: Delivery, *, attempts: int, error: str, now: int
) -> None:
    """Store a copy of a message as a dead letter."""
    writer.run("deliveries.bury", attempts=attempts, error=error, now=now, **delivery._asdict())


def newest_dead_letters(reader: Reader, limit: int) -> list[DeadLetter]:
    """Return the newest dead letters, newest first."""
    return [DeadLetter(**row) for row in reader.rows("deliveries.dead_letters", limit=limit)]


def dead_letter_counts(reader: Reader) -> dict[str, int]:
    """Return the number of dead letters of each agent that has any."""
    return {row["agent_id"]: row["number"] for row in reader.rows("deliveries.dead_by_agent")}


def bus_totals(reader: Reader) -> BusTotals:
    """Return the size of the bus."""
    row = reader.row("messages.totals")
    return BusTotals(0, 0, None) if row is None else BusTotals(**row)


def all_readers(reader: Reader, *, count_to: int) -> list[StoredReader]:
    """Return every known agent by name; unread messages of either kind count up to `count_to`."""
    return [StoredReader(**row) for row in reader.rows("messages.readers", count_to=count_to)]
