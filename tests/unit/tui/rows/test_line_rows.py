"""The lines of a diff as rows, with words and colours."""

import pytest

from gitworker.review.page.shown_changes import ADD, DEL, NOTE, SAME, DiffLine, ShownHunk
from gitworker.tui.rows.line_rows import (
    BLOCK,
    BLOCKS_KEPT,
    LENGTH_AT_MOST,
    MARGIN,
    ColorCache,
    HunkLines,
    LineKey,
    LineRow,
    SideRow,
    block_ends,
    fitted,
    is_same_line,
    style_of_part,
)
from gitworker.tui.rows.row import Part


def lines_of(*lines: tuple[str, str], cache: ColorCache | None = None) -> list[LineRow]:
    """Return the rows of a hunk of a Python file."""
    shown = tuple(
        DiffLine(kind, None if kind == ADD else at, None if kind == DEL else at, text)
        for at, (kind, text) in enumerate(lines, 1)
    )
    hunk = HunkLines("a.py", ShownHunk("id", "", "", shown, False), cache or ColorCache())
    return [LineRow(hunk, at) for at in range(len(lines))]


def styles(row: LineRow) -> dict[str, str]:
    """Return the style of each part of a row by its text."""
    return {part.text: part.style for part in row.parts}


def test_a_line_is_coloured_later() -> None:
    """A line is shown in the colour of its sign, and with colours of its own after `color`."""
    cache = ColorCache()
    (row,) = lines_of((ADD, "return 'x', 1, name"), cache=cache)
    assert styles(row)["return 'x', 1, name"] == "green"
    assert row.color()
    found = styles(row)
    assert (found["return"], found["'x'"], found["1"]) == ("green bold", "yellow", "cyan")
    assert found[", name"] == "green"
    assert not row.color()
    (again,) = lines_of((ADD, "return 'x', 1, name"), cache=cache)
    assert styles(again) == found


def test_words_and_colours() -> None:
    """The words that differ are underlined inside of their colours."""
    old, new = lines_of((DEL, "value = 'first one'"), (ADD, "value = 'other one'"))
    assert new.color()
    assert styles(new)["other"] == "yellow underline"
    assert not old.color()
    assert styles(old)["first"] == "yellow underline"


def test_a_long_line_has_no_colours() -> None:
    """A line that is too long is not coloured, nor are those of its block."""
    row, _ = lines_of((ADD, "return 1"), (ADD, "x" * (LENGTH_AT_MOST + 1)))
    assert not row.color()
    assert styles(row)["return 1"] == "green"


@pytest.mark.parametrize(
    ("kind", "style", "found"),
    [
        ("", "red", "red"), ("k", "", "bold"), ("kn", "red", "red bold"), ("s1", "red", "yellow"),
        ("c1", "green", "green dim italic"), ("cp", "green", "magenta"), ("x", "green", "green"),
    ],
)  # fmt: skip
def test_styles(kind: str, style: str, found: str) -> None:
    """A kind without a colour keeps the line's, one with a colour replaces it."""
    assert style_of_part(kind, style, is_word=False) == found
    assert style_of_part(kind, style, is_word=True) == f"{found} underline"


def test_blocks() -> None:
    """Blocks end in front of a line without indentation, and are not much longer without one."""
    texts = ["    indented"] * 400
    assert block_ends(texts)[:2] == [BLOCK, 2 * BLOCK]
    texts[BLOCK + 3] = "def f():"
    assert block_ends(texts)[:2] == [BLOCK + 3, 2 * BLOCK + 3]
    assert block_ends(texts)[-1] == 400
    assert block_ends(["x"] * (BLOCK + MARGIN)) == [BLOCK + MARGIN]
    rows = lines_of(*[(SAME, "    pass")] * 400)
    assert rows[399].color()
    assert not rows[398].color()
    assert rows[0].color()


def test_old_colours_are_forgotten() -> None:
    """The cache has a limited size."""
    cache = ColorCache()
    for number in range(BLOCKS_KEPT + 1):
        cache.put(("a.py", "id", number), [])
    assert cache.get(("a.py", "id", 0)) is None
    assert cache.get(("a.py", "id", BLOCKS_KEPT)) == []


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (("ab", "c"), "ab|c|   "), (("abcdef",), "abcdef|"), (("abcdefg",), "abcde…|"),
        (("abc", "defg"), "abc|de…|"), (("abcdef", "g"), "abcde…|"), (("äöü宽宽",), "äöü宽…|"),
        (("ab宽宽宽",), "ab宽…| "), ((), "      "),
    ],
)  # fmt: skip
def test_half_a_screen(texts: tuple[str, ...], found: str) -> None:
    """Parts fill the width exactly, and an ellipsis marks a cut."""
    assert "|".join(one.text for one in fitted([Part(text) for text in texts], 6)) == found


def hunk_of(*lines: tuple[str, int | None, int | None, str]) -> HunkLines:
    """Return a hunk with numbered lines."""
    shown = tuple(DiffLine(*one) for one in lines)
    return HunkLines("a.py", ShownHunk("id", "", "", shown, False), ColorCache())


def text_of(row: SideRow) -> str:
    """Return the text of a row."""
    return "".join(part.text for part in row.parts)


def test_two_columns() -> None:
    """A row has both versions of a line, each with its number; a place without one is empty."""
    hunk = hunk_of((DEL, 1, None, "old = 1"), (ADD, None, 1, "new = 1"), (NOTE, None, None, " end"))
    both = SideRow(hunk, 0, 1, width=43)
    assert text_of(both) == "  1 -old = 1         │   1 +new = 1"
    assert both.key == LineKey("a.py", "id", 1, 1, 1)
    assert both.width >= len("  1 -old = 1         │   1 +new = 1")
    assert both.color()
    assert not both.color()
    assert text_of(SideRow(hunk, 0, None, width=43)) == "  1 -old = 1         │ "
    assert SideRow(hunk, 0, None, width=43).key == LineKey("a.py", "id", 1, None, 0)
    assert text_of(SideRow(hunk, None, 1, width=43)) == f"{' ' * 20} │   1 +new = 1"
    assert text_of(SideRow(hunk, 2, 2, width=43)) == "    \\ end            │ "


def test_the_same_line() -> None:
    """A line is found again in the other number of columns by the number of one side."""
    row = LineKey("a.py", "id", 3, 4, 0)
    assert is_same_line(LineKey("a.py", "id", None, 4, 9), row)
    assert is_same_line(LineKey("a.py", "id", 3, None, 9), row)
    assert not is_same_line(LineKey("a.py", "id", 4, None, 9), row)
    assert not is_same_line(LineKey("b.py", "id", 3, 4, 0), row)
    assert not is_same_line(None, LineKey("a.py", "id", None, None, 0))
