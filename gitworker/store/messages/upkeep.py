"""When the last upkeep began. Every command reads this: nothing heavy is imported here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.store.api import Reader, Store


def find_last_upkeep(reader: Reader) -> int | None:
    """Return when the last upkeep began; None in a new repository."""
    row = reader.row("retention.last_upkeep")
    return None if row is None else row["ts_ms"]


def record_first_upkeep(store: Store, *, now: int) -> None:
    """Record a time from which the first upkeep is counted; a recorded one stays."""
    store.write_one("retention.first_upkeep", durable=False, now=now)


def claim_upkeep(store: Store, *, now: int, seen: int) -> bool:
    """Record that an upkeep begins; return False if another process was faster."""
    return store.write_one("retention.claim_upkeep", durable=False, now=now, seen=seen) > 0
