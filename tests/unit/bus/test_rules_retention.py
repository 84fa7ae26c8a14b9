"""The rules of retention: agents that hold messages back, and names of archives."""

import pytest

from gitworker.bus.files.rules_retention import (
    DAY_MS,
    AckPosition,
    PruneFloor,
    archive_name,
    cutoff_ms,
    holds_back,
    lowest_floor,
)


def test_cutoff() -> None:
    """Days count back from now."""
    assert cutoff_ms(10 * DAY_MS, 3) == 7 * DAY_MS
    assert cutoff_ms(10 * DAY_MS, 10**15) == 0


@pytest.mark.parametrize(
    ("updated_at_ms", "living", "holds"),
    [(5, {"a"}, True), (5, {"b"}, False), (5, set(), False), (10, set(), True), (11, set(), True)],
)
def test_agents_that_hold_back(updated_at_ms: int, living: set[str], holds: bool) -> None:
    """An agent that lives, or acknowledged lately, keeps its unread messages."""
    cursor = AckPosition("a", 7, updated_at_ms)
    assert holds_back(cursor, living=frozenset(living), since_ms=10) is holds


@pytest.mark.parametrize(
    ("unread", "floor"),
    [
        ([], PruneFloor(11, None)),
        ([("a", None)], PruneFloor(11, None)),
        ([("a", 5), ("b", 3), ("c", 4)], PruneFloor(3, "b")),
        ([("a", 12)], PruneFloor(11, None)),
    ],
)
def test_floor(unread: list[tuple[str, int | None]], floor: PruneFloor) -> None:
    """The oldest unread message is the floor; without one, every message may be pruned."""
    assert lowest_floor(10, unread) == floor


def test_archive_names() -> None:
    """An archive is named by its range of messages, a further one of that range by a number."""
    assert archive_name("bus", 1, 500) == "bus-1-500.jsonl.gz"
    assert archive_name("bus", 1, 500, 2) == "bus-1-500.2.jsonl.gz"
