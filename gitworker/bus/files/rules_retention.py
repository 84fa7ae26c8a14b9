"""Which messages may be pruned. Pure: rows and times in, decisions out."""

from collections.abc import Iterable
from typing import NamedTuple

DAY_MS = 24 * 60 * 60 * 1000


class AckPosition(NamedTuple):
    """The position up to which an agent has acknowledged, and the time of its last ack."""

    agent: str
    seq: int
    updated_at_ms: int


class PruneFloor(NamedTuple):
    """Messages below `seq` may be pruned; `agent` has not read the one at `seq`."""

    seq: int
    agent: str | None


def cutoff_ms(now_ms: int, days: int) -> int:
    """Return the time before which a message is old; never before the epoch."""
    return max(0, now_ms - days * DAY_MS)


def holds_back(cursor: AckPosition, *, living: frozenset[str], since_ms: int) -> bool:
    """Return whether an agent's unread messages must stay: it is living, or acknowledged recently.

    An agent that never acknowledged has no cursor. It keeps only messages that were sent to it
    alone, and only while it is living.
    """
    return cursor.agent in living or cursor.updated_at_ms >= since_ms


def lowest_floor(newest: int, unread: Iterable[tuple[str, int | None]]) -> PruneFloor:
    """Return the floor: the oldest message that an agent has not read, else after the newest."""
    floor = PruneFloor(newest + 1, None)
    for agent, seq in unread:
        if seq is not None and seq < floor.seq:
            floor = PruneFloor(seq, agent)
    return floor


def archive_name(kind: str, first: int, last: int, attempt: int = 1) -> str:
    """Return the name of an archive file: `bus-1-500.jsonl.gz`; further attempts are numbered."""
    again = "" if attempt == 1 else f".{attempt}"
    return f"{kind}-{first}-{last}{again}.jsonl.gz"
