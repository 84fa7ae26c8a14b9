"""How long a run waits between two ticks. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LOOK_AT_MOST_S = 10.0  # while agents run: overdue workers are recorded by commands only
DEADLINE_AT_MOST_S = 30.0  # a wait does not count the time for which the machine sleeps


def wait_s(deadlines_ms: Iterable[int | None], *, now: int, is_busy: bool) -> float:
    """Return the seconds until the earliest deadline, or until the clock is read again.

    Without a deadline, and if the run is not busy, only a change ends the wait.
    """
    known = [one for one in deadlines_ms if one is not None]
    left_s = math.inf
    if known:
        left_s = min(DEADLINE_AT_MOST_S, max(0.0, (min(known) - now) / 1000))
    return min(left_s, LOOK_AT_MOST_S) if is_busy else left_s
