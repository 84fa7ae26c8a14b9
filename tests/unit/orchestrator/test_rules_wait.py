"""The wait between two ticks of a run."""

import math
from collections.abc import Sequence

import pytest

from gitworker.orchestrator.rules_wait import wait_s

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("deadlines_ms", "is_busy", "seconds"),
    [
        ((), False, math.inf),
        ((None, None), False, math.inf),
        ((None,), True, 10.0),
        ((3000, 2500, None), False, 1.5),
        ((900,), False, 0.0),
        ((3000,), True, 2.0),
        ((20 * 1000 + 1000,), True, 10.0),
        ((5 * HOUR_MS, None), False, 30.0),
    ],
)
def test_the_length_of_a_wait(
    deadlines_ms: Sequence[int | None], is_busy: bool, seconds: float
) -> None:
    """A deadline in hours is looked at every 30 s, since a sleep of the machine is not counted."""
    assert wait_s(deadlines_ms, now=1000, is_busy=is_busy) == seconds
