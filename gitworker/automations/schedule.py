"""The next time of an automation: a period, or a cron expression in local time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.automations.rules_automation import CRON, PERIODIC, next_period_ms
from gitworker.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping


def next_time_ms(trigger: Mapping[str, Any], *, before_ms: int | None, now: int) -> int | None:
    """Return the next time of a trigger after `now`; None for events.

    `before_ms` is the previous time. Raises Invalid for a bad expression, and for one that
    has no time in the next years.
    """
    if trigger["type"] == PERIODIC:
        return next_period_ms(before_ms, int(trigger["interval_seconds"]), now)
    if trigger["type"] == CRON:
        return _next_of_cron(str(trigger["expression"]), now)
    return None


def _next_of_cron(expression: str, now: int) -> int:
    from cronsim import CronSim, CronSimError  # 5 ms, for cron expressions only

    try:
        times = CronSim(expression, clock.local_datetime(now))  # local, as in cron
        # In the hour that is repeated in autumn, the first ones are those of the first time.
        found = next(one for one in times if one.timestamp() * 1000 > now)
    except CronSimError as error:
        raise _bad(expression, str(error)) from None
    except StopIteration:
        raise _bad(expression, "it has no time in the next 50 years") from None
    return int(found.timestamp() * 1000)


def _bad(expression: str, why: str) -> Invalid:
    return Invalid(
        f"{ascii(expression)[:80]} is not a cron expression: {why[:80]}",
        "git worker automation add -h",
        code="usage",
    )
