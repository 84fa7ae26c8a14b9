"""Old rows as stored: counting and deleting them, and returning the free pages of the file."""

import json
from typing import NamedTuple

from gitworker.store.api import Reader, Writer


class OldMessages(NamedTuple):
    """The old messages in a range: their number, the end of the range, the first and the last."""

    old: int
    last_seq: int
    first_old: int
    last_old: int


class StoredCursor(NamedTuple):
    """The position up to which an agent has acknowledged, and the time of its last ack."""

    agent_id: str
    last_acked_seq: int
    updated_at_ms: int


def find_old_messages(
    reader: Reader, after: int, *, floor: int, cutoff_ms: int, limit: int
) -> OldMessages | None:
    """Return the old ones of the next `limit` messages below a floor; None if none is old."""
    row = reader.row("retention.window", after=after, floor=floor, cutoff_ms=cutoff_ms, limit=limit)
    return OldMessages(**row) if row and row["old"] else None


def all_cursors(reader: Reader) -> list[StoredCursor]:
    """Return the cursor of each agent that has one."""
    return [StoredCursor(**row) for row in reader.rows("retention.cursors")]


def first_unread(reader: Reader, agent: str, *, after: int) -> int | None:
    """Return the oldest message after a position to an agent or to all, or None."""
    return _seq(reader, "retention.first_unread", agent=agent, after=after)


def first_addressed(reader: Reader, agent: str) -> int | None:
    """Return the oldest message to an agent alone, or None."""
    return _seq(reader, "retention.first_addressed", agent=agent)


def count_old_dead_letters(reader: Reader, cutoff_ms: int) -> int:
    """Return the number of dead letters from before a time."""
    return _number(reader, "retention.count_dead_letters", "number", cutoff_ms=cutoff_ms)


def delete_archived(writer: Writer, *, seqs: list[int], dead_letters: list[int]) -> None:
    """Delete messages by their positions and dead letters by their ids."""
    writer.run("retention.delete_messages", seqs=json.dumps(seqs))
    writer.run("retention.delete_dead_letters", ids=json.dumps(dead_letters))


def delete_old_messages(writer: Writer, *, until: int, cutoff_ms: int, limit: int) -> int:
    """Delete the next old messages up to a position; return their number."""
    return writer.run("retention.delete_old", until=until, cutoff_ms=cutoff_ms, limit=limit)


def delete_old_dead_letters(writer: Writer, cutoff_ms: int) -> None:
    """Delete the dead letters from before a time."""
    writer.run("retention.delete_old_dead_letters", cutoff_ms=cutoff_ms)


def delete_leftovers(writer: Writer, *, cutoff_ms: int, budgets_cutoff_ms: int) -> None:
    """Delete attempts at messages that do not exist, and old rewrites, runs and send budgets.

    Old notifications are deleted, too, unless the event that they name may still be current.
    """
    writer.run("retention.delete_stray_deliveries")
    writer.run("retention.delete_old_rewrites", cutoff_ms=cutoff_ms)
    writer.run("retention.delete_old_runs", cutoff_ms=cutoff_ms)
    writer.run("retention.delete_old_budgets", cutoff_ms=budgets_cutoff_ms)
    writer.run("retention.delete_old_notifications", cutoff_ms=cutoff_ms)


def end_of_stretch(reader: Reader, after: int, *, until: int, limit: int) -> int | None:
    """Return the position of the last of the next `limit` messages, if any."""
    return _seq(reader, "retention.end_of_stretch", after=after, until=until, limit=limit)


def blob_refs(reader: Reader, after: int, *, until: int) -> set[str]:
    """Return the blobs that a range of messages, or any dead letter, refers to."""
    rows = reader.rows("retention.blob_refs", after=after, until=until)
    return {row["ref"] for row in [*rows, *reader.rows("retention.dead_blob_refs")]}


def free_bytes(reader: Reader) -> int:
    """Return the size of the unused pages of the file."""
    size = _number(reader, "retention.page_size", "page_size")
    return size * _number(reader, "retention.free_pages", "freelist_count")


def return_free_pages(writer: Writer) -> int:
    """Return some free pages to the file system; return the size of those that are left."""
    writer.rows("retention.vacuum_step")
    return free_bytes(writer)


def _seq(reader: Reader, query: str, **values: str | int) -> int | None:
    row = reader.row(query, **values)
    return None if row is None else row["seq"]


def _number(reader: Reader, query: str, column: str, **values: int) -> int:
    row = reader.row(query, **values)
    return int(row[column]) if row else 0
