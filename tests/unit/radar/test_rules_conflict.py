"""The areas of a merged text, and the kinds of conflicts."""

import pytest

from gitworker.radar.rules_conflict import LINES_AT_MOST, Area, areas_of, kind_words

MERGED = b"""1
2
3
4
<<<<<<<< a
ours
more
|||||||| b
base
========
theirs
>>>>>>>> c
<<<<<<< not a marker
5
<<<<<<<< a
|||||||| b
gone
========
>>>>>>>> c
6
"""


def test_areas() -> None:
    """An area has its three versions, its line in ours and the lines around it."""
    first, second = areas_of(MERGED.split(b"\n"), 8)
    assert first == Area(
        5, ("2", "3", "4"), ("ours", "more"), ("base",), ("theirs",),
        ("<<<<<<< not a marker", "5"),
    )  # fmt: skip
    assert second == Area(9, ("<<<<<<< not a marker", "5"), (), ("gone",), (), ("6",))


def test_no_areas() -> None:
    """A text without conflicts has none."""
    assert areas_of(b"a\nb\n".split(b"\n"), 8) == []
    assert areas_of([], 8) == []


def test_long_areas_are_cut() -> None:
    """The lines after the limit are counted."""
    ours = b"x\n" * (LINES_AT_MOST + 3)
    text = b"<<<<<<<<\n" + ours + b"||||||||\n========\ny\n>>>>>>>>\n"
    (found,) = areas_of(text.split(b"\n"), 8)
    assert (len(found.ours), found.left_out, found.line) == (LINES_AT_MOST, 3, 1)


@pytest.mark.parametrize(
    ("stages", "modes", "words"),
    [
        ((1, 2, 3), ("100644",), "changed by both"),
        ((2, 3), ("100644",), "added by both"),
        ((1, 2), ("100644",), "changed by auth, deleted or renamed by menu"),
        ((1, 3), ("100644",), "changed by menu, deleted or renamed by auth"),
        ((1,), ("100644",), "renamed by both"),
        ((3,), ("100644",), "renamed, or in the way of a directory; only menu has this name"),
        ((1, 2, 3), ("160000",), "a submodule with two commits"),
        ((2, 3), ("120000", "100644"), "a symbolic link, changed by both"),
    ],
)
def test_kinds(stages: tuple[int, ...], modes: tuple[str, ...], words: str) -> None:
    """The versions that exist tell how two sides conflict."""
    assert kind_words(stages, modes, ours="auth", theirs="menu") == words
