"""Timeline: the runs, reviews and landings of a span of time, and the tokens used in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.observe.timeline.rules_burn import GROUPS
from gitworker.web.pages.history.rules_picture import (
    BURN_HIGH,
    HEAD,
    LEGEND,
    NAME,
    SHAPES,
    Scale,
    colors_of,
    columns,
    height_of,
    lanes,
    lines,
    tick_of,
)

if TYPE_CHECKING:
    from gitworker.observe.timeline.timeline import Timeline
    from gitworker.web.pages.history.rules_picture import Tick
    from gitworker.web.request import Ask

# Name → the words of its link, the hours, and the hours of a day that the axis names.
WINDOWS = {
    "6h": ("6 hours", 6, range(24)), "day": ("day", 24, range(0, 24, 4)),
    "week": ("week", 24 * 7, range(1)),
}  # fmt: skip
DAY = "day"
LINES_SHOWN = 100


def read(ask: Ask) -> dict[str, Any]:
    """Return the pictures and the list of the window that the address names."""
    name = ask.query.get("window", DAY)
    name = name if name in WINDOWS else DAY
    by = ask.query.get("by", "")
    by = by if by in GROUPS else GROUPS[0]
    found = ask.service.timeline(hours=WINDOWS[name][1], by=by)
    scale = Scale(found.since_ms, found.until_ms)
    listed = lines(found.rows)
    return {
        "found": found, "burn": found.burn, "window": name, "by": by, "groups": GROUPS,
        "windows": [(one, words) for one, (words, *_) in WINDOWS.items()],
        "ticks": _ticks(found, scale, name), "lanes": lanes(found.rows, scale),
        "height": height_of(found.rows), "columns": columns(found.burn, scale),
        "colors": colors_of(found.burn), "lines": listed[:LINES_SHOWN],
        "more": max(0, len(listed) - LINES_SHOWN), "head": HEAD, "name_at": NAME,
        "marks": [(kind, SHAPES[kind], words) for kind, words in LEGEND],
        "burn_high": BURN_HIGH, "local": lambda ts_ms: clock.local_minutes(ts_ms, found.until_ms),
        "most": max((one.tokens for one in found.burn.hours), default=0),
        "hours": [one for one in reversed(found.burn.hours) if one.tokens],
    }  # fmt: skip


def _ticks(found: Timeline, scale: Scale, window: str) -> list[Tick]:
    """Return the labels of the axis: hours, or for a week its days."""
    ticks = []
    for hour in clock.local_hours(found.since_ms, found.until_ms):
        date, time = clock.local_seconds(hour).split(" ")
        if int(time[:2]) in WINDOWS[window][2]:
            ticks.append(tick_of(scale, hour, date[5:] if window == "week" else time[:5]))
    return ticks
