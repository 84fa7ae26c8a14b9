"""The counts and budgets behind the limits on sending. On the hot path."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms
if TYPE_CHECKING:
    from gitworker.store.api import Reader, Writer


def count_unread(reader: Reader, agent: str, *, limit: int) -> int:
    """Return the number of unread messages to an agent alone, counted up to a limit."""
    row = reader.row("pressure.unread", agent=agent, limit=limit)
    return int(row["number"]) if row else 0


def addressees(reader: Reader) -> list[str]:
    """Return every addressee of a message on the bus."""
    return [str(row["agent"]) for row in reader.rows("pressure.addressees")]


def find_nth_newest(reader: Reader, number: int) -> int | None:
    """Return the time of the message with this number of newer ones, or None."""
    row = reader.row("pressure.nth_newest", number=number)
    return row["ts_ms"] if row else None


def find_budget(reader: Reader, sender: str) -> tuple[float, int] | None:
    """Return the tokens of a sender and when they were counted, or None."""
    row = reader.row("pressure.budget", agent=sender)
    return (row["tokens"], row["at_ms"]) if row else None


def record_budget(writer: Writer, sender: str, tokens: float, *, now: int) -> None:
    """Record the tokens of a sender."""
    writer.run("pressure.set_budget", agent=sender, tokens=tokens, now=now)
