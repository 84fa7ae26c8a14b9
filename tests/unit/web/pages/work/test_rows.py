"""The lines of a hunk as rows of HTML, and the cache of them."""

from typing import Any, cast

from gitworker.review.page.shown_changes import DiffLine, ShownFile, ShownHunk
from gitworker.web.pages.work.rows import COLORED_AT_MOST, RowCache, Rows

SAID = cast("Any", ("a comment",))
LINES = (
    DiffLine("same", 1, 1, "one"),
    DiffLine("del", 2, None, "x = <old>"),
    DiffLine("add", None, 2, "x = <new>", SAID),
    DiffLine("note", None, None, " No newline at end of file"),
)


def shown(*hunks: ShownHunk, path: str = "README") -> ShownFile:
    """Return a file with these hunks."""
    return ShownFile("key", path, (), None, (1, 1), hunks, (), 0, len(hunks), path)


def hunk(id: str = "a", place: str = "-1,2 +1,2", lines: tuple[DiffLine, ...] = LINES) -> ShownHunk:
    """Return a hunk."""
    return ShownHunk(id, place, "", lines, False)


def rows(cache: RowCache, one: ShownHunk, *, is_sided: bool = False, path: str = "") -> list[Rows]:
    """Return the rows of the only hunk of a file."""
    return list(cache.rows(shown(one, path=path or "README"), one, is_sided=is_sided))


def test_one_column() -> None:
    """Each line is a row with both numbers, cut after the line with a comment."""
    first, last = rows(RowCache(), hunk())
    assert first.said == SAID
    assert last.said == ()
    assert first.html.splitlines() == [
        '<tr class="same"><td class="no old">1</td><td class="no new">1</td>'
        '<td class="code">one</td></tr>',
        '<tr class="del"><td class="no old">2</td><td class="no new"></td>'
        '<td class="code">x = &lt;<mark>old</mark>&gt;</td></tr>',
        '<tr class="add"><td class="no old"></td><td class="no new">2</td>'
        '<td class="code">x = &lt;<mark>new</mark>&gt;</td></tr>',
    ]
    assert "No newline" in last.html


def test_two_columns() -> None:
    """A line and its new version share a row, and a note has one cell."""
    first, last = rows(RowCache(), hunk(), is_sided=True)
    assert first.html.count("<tr") == 2
    assert '<tr class="add pair"><td class="no old">2</td>' in first.html
    assert first.said == SAID
    assert 'colspan="4"> No newline' in last.html
    (only,) = rows(RowCache(), hunk(lines=LINES[2:3]), is_sided=True)
    assert '<td class="code was none"></td>' in only.html


def test_the_comments_are_not_kept() -> None:
    """The rows of a hunk are made once, and its comments are those of the moment."""
    cache = RowCache()
    assert len(rows(cache, hunk())) == 2
    without = tuple(one._replace(said=()) for one in LINES)
    assert [one.said for one in rows(cache, hunk(lines=without))] == [()]


def test_a_moved_hunk_has_its_new_numbers() -> None:
    """The same hunk at another place is another one."""
    cache = RowCache()
    rows(cache, hunk())
    moved = tuple(one._replace(new=one.new and one.new + 7) for one in LINES)
    (first, _) = rows(cache, hunk(place="-1,2 +8,2", lines=moved))
    assert '<td class="no new">8</td>' in first.html


def test_kept_rows_are_the_same() -> None:
    """The rows that were kept have every sign of those that were made."""
    cache = RowCache()
    odd = hunk(lines=tuple(DiffLine("add", None, 1, f"a{chr(0)}\udcff\r{one}") for one in "b<\n"))
    for is_sided in (False, True):
        assert rows(cache, odd, is_sided=is_sided) == rows(cache, odd, is_sided=is_sided)


def test_the_cache_is_bounded() -> None:
    """The oldest rows are dropped, and made again when they are wanted."""
    cache = RowCache(limit=1)
    before = rows(cache, hunk())
    assert rows(cache, hunk("b"))
    assert rows(cache, hunk()) == before


def test_a_large_file_has_no_colours() -> None:
    """A file of too many lines is shown without colours."""
    line = DiffLine("add", None, 1, "return 1")
    small, large = (hunk(lines=(line,) * size) for size in (1, COLORED_AT_MOST + 1))
    assert "<span" in rows(RowCache(), small, path="a.py")[0].html
    assert "<span" not in rows(RowCache(), large, path="a.py")[0].html
