"""Nothing is resumed in the quiet hours."""

import pytest

from gitworker.orchestrator.turns.rules_quiet import after_quiet

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("hours", "minute", "later_ms"),
    [
        ("", 0, 0),
        ("22:00-07:00", 21 * 60 + 59, 0),
        ("22:00-07:00", 22 * 60, 9 * HOUR_MS),
        ("22:00-07:00", 3 * 60, 4 * HOUR_MS),
        ("22:00-07:00", 7 * 60, 0),
        ("12:00-13:30", 13 * 60, HOUR_MS // 2),
        ("12:00-12:00", 12 * 60, 0),
    ],
)
def test_a_time_in_the_quiet_hours_moves_to_their_end(
    hours: str, minute: int, later_ms: int
) -> None:
    """Hours may span midnight; without a length they keep nothing."""
    assert after_quiet(1000, hours, minute=minute) == 1000 + later_ms
