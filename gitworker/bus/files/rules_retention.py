"""What may be pruned. Pure: rows and times in, decisions out."""

from collections.abc import Iterable
from typing import NamedTuple

DAY_MS = 24 * 60 * 60 * 1000


class Cursor(NamedTuple):
    """How far an agent has acknowledged, and when it last did."""

    agent: str
    seq: int
    updated_at_ms: int


class Floor(NamedTuple):
    """Messages below `seq` may go; `agent` is the one who has not read what lies there."""

    seq: int
    agent: str | None


def cutoff_ms(now_ms: int, days: int) -> int:
    """Return the time before which a message is old; never before the epoch."""
    return max(0, now_ms - days * DAY_MS)


def holds_back(cursor: Cursor, *, living: frozenset[str], since_ms: int) -> bool:
    """Tell whether what an agent has not read must stay: it lives, or acknowledged lately.

    Who never acknowledged anything has no cursor and reads as it likes (seed 2): it holds nothing
    back but, while it lives, what was sent to it alone.
    """
    return cursor.agent in living or cursor.updated_at_ms >= since_ms


def lowest_floor(newest: int, unread: Iterable[tuple[str, int | None]]) -> Floor:
    """Return the floor: the oldest message that some agent has not read, else behind the newest."""
    floor = Floor(newest + 1, None)
    for agent, seq in unread:
        if seq is not None and seq < floor.seq:
            floor = Floor(seq, agent)
    return floor


def archive_name(kind: str, first: int, last: int, attempt: int = 1) -> str:
    """Return the name of an archive file: `bus-1-500.jsonl.gz`; further attempts are numbered."""
    again = "" if attempt == 1 else f".{attempt}"
    return f"{kind}-{first}-{last}{again}.jsonl.gz"
