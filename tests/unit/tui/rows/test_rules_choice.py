"""The lines of a comment, from the rows that a person has chosen."""

from types import SimpleNamespace
from typing import Any

import pytest

from gitworker.tui.rows.line_rows import LineKey
from gitworker.tui.rows.review_rows import CommentKey, FileKey, HunkKey
from gitworker.tui.rows.rules_choice import Choice, choose_lines


def line(old: int | None, new: int | None, path: str = "a.py") -> LineKey:
    """Return the key of a line."""
    return LineKey(path, "h1", old, new, 0)


def hunk(id: str, *lines: tuple[str, int | None, int | None]) -> SimpleNamespace:
    """Return a hunk with lines of a kind and a number on each side."""
    shown = [SimpleNamespace(kind=kind, old=old, new=new) for kind, old, new in lines]
    return SimpleNamespace(id=id, lines=shown)


FILES = [
    SimpleNamespace(path="b.py", hunks=[]),
    SimpleNamespace(
        path="a.py",
        hunks=[
            hunk("h1", ("same", 1, 1), ("del", 2, None), ("add", None, 2)),
            hunk("h2", ("same", 8, 8), ("add", None, 9)),
        ],
    ),
]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([], None),
        ([None], None),
        ([CommentKey(3)], None),
        ([line(1, 1)], Choice("a.py:1", False)),
        ([line(2, None)], Choice("a.py:2", True)),
        ([line(2, None), line(None, 2), line(3, 3)], Choice("a.py:2-3", False)),
        ([line(1, 1), line(2, None)], Choice("a.py:1-2", True)),
        ([line(1, 1, "b.py"), line(None, 5)], Choice("a.py:5", False)),
        ([HunkKey("a.py", "h2")], Choice("a.py:9", False)),
        ([FileKey("a.py")], Choice("a.py:2", True)),
        ([FileKey("b.py")], None),
        ([HunkKey("a.py", "h1"), line(None, 2)], Choice("a.py:2", False)),
    ],
)
def test_lines(keys: list[Any], expected: Choice | None) -> None:
    """The side is that of the last line; a hunk or a file means its first changed line."""
    assert choose_lines(keys, FILES) == expected
