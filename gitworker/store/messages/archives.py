"""Archives as stored: the journal of each archive, and the old rows that it gets."""

from typing import NamedTuple

from gitworker.store.api import Reader, Writer
from gitworker.store.messages.mailbox import StoredMessage


class OpenArchive(NamedTuple):
    """An archive of a killed prune; `unarchived` if the prune deletes without an archive."""

    id: int
    file: str
    lines: int
    unarchived: bool


class OldDeadLetter(NamedTuple):
    """A dead letter with all its columns."""

    id: int
    agent_id: str
    seq: int
    message_id: str
    ts_ms: int
    from_agent: str
    to_agent: str | None
    type: str
    correlation_id: str | None
    in_reply_to: str | None
    payload: str | None
    payload_ref: str | None
    attempts: int
    error: str
    dead_at_ms: int


def begin_archive(writer: Writer, *, now: int) -> int:
    """Open a journal row before an archive is written; return its number."""
    writer.run("retention.begin_archive", now=now)
    row = writer.row("retention.newest_archive")
    return int(row["id"]) if row else 0


def record_archive(writer: Writer, number: int, *, file: str, lines: int) -> None:
    """Record the name of an archive, which is on disk; empty for a prune without an archive."""
    writer.run("retention.archive_written", id=number, file=file, lines=lines)


def end_archive(writer: Writer, number: int) -> None:
    """Record that the rows of an archive are deleted from the tables and the log."""
    writer.run("retention.archive_done", id=number)


def drop_archive(writer: Writer, number: int) -> None:
    """Delete the journal row of an unfinished archive."""
    writer.run("retention.drop_archive", id=number)


def open_archives(reader: Reader) -> list[OpenArchive]:
    """Return the archives of killed prunes, oldest first."""
    return [OpenArchive(**row) for row in reader.rows("retention.open_archives")]


def old_messages(
    reader: Reader, after: int, *, until: int, cutoff_ms: int, limit: int
) -> list[StoredMessage]:
    """Return the old messages after one position, up to another, oldest first."""
    rows = reader.rows(
        "retention.old_messages", after=after, until=until, cutoff_ms=cutoff_ms, limit=limit
    )
    return [StoredMessage(row) for row in rows]


def old_dead_letters(
    reader: Reader, after: int, *, cutoff_ms: int, limit: int
) -> list[OldDeadLetter]:
    """Return the old dead letters with an id above `after`, oldest first."""
    rows = reader.rows("retention.old_dead_letters", after=after, cutoff_ms=cutoff_ms, limit=limit)
    return [OldDeadLetter(**row) for row in rows]
