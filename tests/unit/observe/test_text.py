"""Layout: ages, safe characters, cutting, columns."""

import pytest

from gitworker.observe.text import age_text, cut, one_line, paint, table


@pytest.mark.parametrize(
    ("age_ms", "text"),
    [
        (None, "-"),
        (0, "0s"),
        (999, "0s"),
        (12_000, "12s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (5 * 60_000, "5m"),
        (2 * 3_600_000, "2h"),
        (3 * 86_400_000 + 1, "3d"),
    ],
)
def test_ages(age_ms: int | None, text: str) -> None:
    """An age is shown in its largest whole unit."""
    assert age_text(age_ms) == text


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("plain ü", "plain ü"),
        ("a\x1b[31mred", "a\\x1b[31mred"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("right\u202eto left", "right\\u202eto left"),
        ("\udcff", "\\udcff"),
    ],
)
def test_one_line(raw: str, safe: str) -> None:
    """Characters that could move a cursor or hide text are replaced."""
    assert one_line(raw) == safe


@pytest.mark.parametrize(
    ("width", "text"), [(None, "abcdef"), (6, "abcdef"), (4, "abc…"), (1, "…"), (0, ""), (-3, "")]
)
def test_cut(width: int | None, text: str) -> None:
    """Text is cut to its width, with an ellipsis for the missing part."""
    assert cut("abcdef", width) == text


def test_paint() -> None:
    """Text is coloured if colour is on and the text is not empty."""
    assert paint("x", "31", color=True) == "\x1b[31mx\x1b[0m"
    assert paint("x", "31", color=False) == paint("x", None, color=True) == "x"
    assert paint("", "31", color=True) == ""


def test_table_is_as_wide_as_needed() -> None:
    """Columns are as wide as their widest cell, and no line ends in blanks."""
    rows = [("a", "long cell", ""), ("bbb", "c", "d\te")]
    assert table(("X", "Y", "Z"), rows, width=None) == [
        "X    Y          Z",
        "a    long cell",
        "bbb  c          d\\te",
    ]


def test_table_fits_the_width() -> None:
    """The widest columns are cut, down to a readable rest, until the table fits."""
    rows = [("worker-with-a-long-name", "short", "a note that is long and long and long")]
    for width in (60, 40, 30):
        lines = table(("WORKER", "TASK", "NOTE"), rows, width=width)
        assert max(map(len, lines)) == width
    assert lines == [
        "WORKER       TASK   NOTE",
        "worker-wit…  short  a note th…",
    ]
    assert max(map(len, table(("A", "B", "C"), rows, width=5))) == 21


def test_table_paints_cells_by_column() -> None:
    """A cell's colour follows from its text, in its column only; padding stays plain."""
    lines = table(
        ("A", "B"), [("OK", "OK"), ("no", "x")], width=20, colors={0: {"OK": "32"}}, color=True
    )
    assert lines == [
        "\x1b[1mA\x1b[0m   \x1b[1mB\x1b[0m",
        "\x1b[32mOK\x1b[0m  OK",
        "no  x",
    ]
