"""The places of a timeline's bars, marks and hours."""

from gitworker.observe.timeline.rules_burn import Used, burn_of
from gitworker.observe.timeline.rules_rows import MARKS, UNDONE, Bar, Mark, Row
from gitworker.web.pages.history.rules_picture import (
    BURN_HIGH,
    COLORS,
    HEAD,
    LEGEND,
    SHAPES,
    WIDE,
    Scale,
    columns,
    height_of,
    lanes,
    lines,
    tick_of,
)

SCALE = Scale(1000, 2000)
RUN = Bar("done", "run of claude, handed in", "t", None, 1250)
WAIT = Bar("in_review", "in review", "t", 1250, None)
MARK = Mark("handed_in", "handed in", "t", 1250, "auth")
ROWS = [Row("auth", (RUN, WAIT), (MARK,)), Row("menu", (), (MARK._replace(at_ms=1900),))]


def test_places() -> None:
    """Bars are cut at the ends of the picture; waits and marks are below the runs."""
    auth, menu = lanes(ROWS, SCALE)
    run, wait = auth.boxes
    assert (run.x, run.width, wait.x, wait.width) == (0.0, WIDE / 4, WIDE / 4, WIDE * 3 / 4)
    assert auth.y < run.y < wait.y < menu.y < height_of(ROWS)
    assert (auth.shapes[0].x, auth.shapes[0].words) == (WIDE / 4, "handed in by auth")


def test_a_clock_that_was_set_back() -> None:
    """A run that ended before its beginning has no width."""
    (lane,) = lanes([Row("auth", (RUN._replace(start_ms=1500),), ())], SCALE)
    assert lane.boxes[0].width == 0


def test_lines() -> None:
    """The list has every bar and mark, the newest first, and those from before last."""
    assert [line.at_ms for line in lines(ROWS)] == [1900, 1250, 1250, None]


def test_labels_stay_inside() -> None:
    """A label at an end of the axis is written inwards."""
    assert [tick_of(SCALE, at, "").anchor for at in (1001, 1500, 1999)] == [
        "start",
        "middle",
        "end",
    ]


def test_columns() -> None:
    """The highest hour fills the height, and the groups after the first few share a colour."""
    runs = [Used(f"a{at}", 1000, 1500, 10 - at, None) for at in range(COLORS + 2)]
    found = columns(burn_of(runs, [1000, 1500, 2000], by="agent"), SCALE)
    assert [one.kind for one in found] == ["g0", "g1", "g2", "g3", "g4", "g4"]
    assert min(one.y for one in found) == HEAD
    assert found[0].y + found[0].height == HEAD + BURN_HIGH
    assert columns(burn_of([], [1000, 2000], by="agent"), SCALE) == ()


def test_every_mark_has_a_shape() -> None:
    """Each kind of mark has a shape and a line of the legend."""
    kinds = {kind for kind, _ in MARKS.values()} | {UNDONE}
    assert kinds == set(SHAPES) == {kind for kind, _ in LEGEND}
