"""The places of a timeline's bars, marks and hours in a picture of any width. Pure.

Places from left to right are percentages, so that the picture fits a narrow screen as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitworker.observe.timeline.rules_burn import Burn, Hour
    from gitworker.observe.timeline.rules_rows import Bar, Mark, Row

HEAD, ROW = 24, 50  # pixels: the labels of the axis, one worker
NAME, RUNS, WAITS = 14, 20, 36  # from the top of a row: its name, its runs, its waits
RUN_HIGH, WAIT_HIGH = 12, 8
BURN_HIGH = 120
WIDE = 98.0  # percent: the span; the rest is for a mark at its end
COLORS = 4  # groups with a colour of their own; the others share one
EDGE = 4.0  # percent: a label so near an end is written inwards
SHAPES = {
    "handed_in": "M0 -5 L5 4 L-5 4 Z", "approved": "M-5 0 L-1 4 L5 -4",
    "returned": "M-4 -4 L4 4 M4 -4 L-4 4", "landed": "M0 -6 L6 0 L0 6 L-6 0 Z",
    "failed": "M-4 -4 H4 V4 H-4 Z",
}  # fmt: skip
LEGEND = (
    ("handed_in", "hand-in"), ("approved", "approval"), ("returned", "sent back"),
    ("landed", "landing"), ("failed", "end without a hand-in"),
)  # fmt: skip


class Scale(NamedTuple):
    """A span of time, as wide as the picture."""

    since_ms: int
    until_ms: int

    def at(self, ts_ms: int | None, *, otherwise: int) -> float:
        """Return the place of a time in percent, within the picture."""
        ts_ms = otherwise if ts_ms is None else ts_ms
        share = (ts_ms - self.since_ms) / (self.until_ms - self.since_ms)
        return round(WIDE * min(1.0, max(0.0, share)), 3)


class Tick(NamedTuple):
    """An hour or a day of the axis."""

    x: float
    text: str
    anchor: str


class Box(NamedTuple):
    """A bar of a worker's row, or a part of an hour's column."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    words: str


class Shape(NamedTuple):
    """A mark of a worker's row."""

    x: float
    y: int
    path: str
    kind: str
    words: str


class Lane(NamedTuple):
    """One worker with its bars and marks; `y` is the top of its row."""

    worker: str
    y: int
    boxes: tuple[Box, ...]
    shapes: tuple[Shape, ...]


class Line(NamedTuple):
    """One line of the list: a run, a wait or a step; `at_ms` is None before the span."""

    at_ms: int | None
    worker: str
    task: str | None
    bar: Bar | None
    mark: Mark | None


def tick_of(scale: Scale, ts_ms: int, text: str) -> Tick:
    """Return a label of the axis."""
    x = scale.at(ts_ms, otherwise=ts_ms)
    anchor = "start" if x < EDGE else "end" if x > WIDE - EDGE else "middle"
    return Tick(x, text, anchor)


def lanes(rows: Sequence[Row], scale: Scale) -> tuple[Lane, ...]:
    """Return the row of each worker."""
    return tuple(_lane(row, HEAD + at * ROW, scale) for at, row in enumerate(rows))


def height_of(rows: Sequence[Row]) -> int:
    """Return the height of the picture of these rows."""
    return HEAD + len(rows) * ROW


def lines(rows: Sequence[Row]) -> list[Line]:
    """Return everything in the rows as lines, the newest first."""
    found = [
        *(Line(bar.start_ms, row.worker, bar.task, bar, None) for row in rows for bar in row.bars),
        *(Line(one.at_ms, row.worker, one.task, None, one) for row in rows for one in row.marks),
    ]
    return sorted(found, key=lambda line: line.at_ms or 0, reverse=True)


def colors_of(burn: Burn) -> dict[str, int]:
    """Return the number of the colour of each group; those after the first few share the last."""
    return {one.group: min(at, COLORS) for at, one in enumerate(burn.groups)}


def columns(burn: Burn, scale: Scale) -> tuple[Box, ...]:
    """Return the parts of each hour's column, the largest group at the bottom."""
    most = max((hour.tokens for hour in burn.hours), default=0)
    colors = colors_of(burn)
    return tuple(box for hour in burn.hours for box in _column(hour, scale, colors, most))


def _column(hour: Hour, scale: Scale, colors: dict[str, int], most: int) -> Iterator[Box]:
    start = scale.at(hour.start_ms, otherwise=0)
    width = round(scale.at(hour.end_ms, otherwise=0) - start, 3)
    bottom = 0.0
    for share in hour.shares:
        if share.tokens:
            height = share.tokens / most * BURN_HIGH
            bottom += height
            y = round(HEAD + BURN_HIGH - bottom, 2)
            kind, words = f"g{colors[share.group]}", f"{share.group}: {share.tokens:,} tokens"
            yield Box(start, y, width, round(height, 2), kind, words)


def _lane(row: Row, y: int, scale: Scale) -> Lane:
    boxes = tuple(_box(bar, y, scale) for bar in row.bars)
    shapes = tuple(
        Shape(
            scale.at(one.at_ms, otherwise=0), y + WAITS + WAIT_HIGH // 2, SHAPES[one.kind],
            one.kind, f"{one.words} by {one.actor}",
        )
        for one in row.marks
    )  # fmt: skip
    return Lane(row.worker, y, boxes, shapes)


def _box(bar: Bar, y: int, scale: Scale) -> Box:
    start = scale.at(bar.start_ms, otherwise=scale.since_ms)
    end = scale.at(bar.end_ms, otherwise=scale.until_ms)
    width = round(max(0.0, end - start), 3)  # a clock may have been set back
    top, height = (RUNS, RUN_HIGH) if bar.is_run else (WAITS, WAIT_HIGH)
    return Box(start, y + top, width, height, bar.kind, bar.words)
