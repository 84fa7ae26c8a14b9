"""The events that a person was notified of, as stored: rows as named tuples."""

from typing import NamedTuple

from gitworker.store.api import Reader, Writer

ATTEMPTS = 5  # the sender may have no network, such as an agent in a sandbox


class SentNotification(NamedTuple):
    """One event: its kind, its words, and the reason if a target did not get it.

    Times are epoch milliseconds. Without `ended_at_ms` it is being sent.
    """

    event: str
    title: str
    begun_at_ms: int
    ended_at_ms: int | None
    error: str | None


def is_notified(reader: Reader, key: str) -> bool:
    """Return whether an event was sent, or is being sent; False if no target was reached."""
    return reader.row("notifications.by_key", key=key, most=ATTEMPTS) is not None


def newest_notifications(reader: Reader, limit: int) -> list[SentNotification]:
    """Return the events that were sent last, the newest first."""
    return [SentNotification(**row) for row in reader.rows("notifications.newest", limit=limit)]


def begin_notification(writer: Writer, key: str, *, event: str, title: str, now: int) -> bool:
    """Record that the sending of an event begins; return False if it was sent before."""
    return (
        writer.run("notifications.begin", key=key, event=event, title=title, now=now, most=ATTEMPTS)
        > 0
    )


def end_notification(
    writer: Writer, key: str, *, error: str | None, now: int, missed: bool = False
) -> None:
    """Record that an event was sent, or the reason for which a target did not get it.

    `missed`: no target was reached, so that it is sent again, a few times.
    """
    writer.run("notifications.end", key=key, error=error, now=now, missed=int(missed))


def break_off(writer: Writer, *, error: str, now: int) -> None:
    """Record that the job that was sending events was killed."""
    writer.run("notifications.break_off", error=error, now=now)
